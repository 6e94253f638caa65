"""Every provider Mailfold understands, by name."""

from collections.abc import Mapping

from mailfold.providers import (
    brevo,
    generic,
    mailersend,
    mailgun,
    mailjet,
    mailtrap,
    mailwebhook,
    mandrill,
    postal,
    postmark,
    resend,
    sendgrid,
    ses,
    sesmetric,
    sparkpost,
    standardwebhooks,
    unisender,
)
from mailfold.providers.base import Provider
from mailfold.request import Source
from mailfold.secret_forms import Form

REGISTRY: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        brevo.PROVIDER,
        generic.PROVIDER,
        mailersend.PROVIDER,
        mailgun.PROVIDER,
        mailjet.PROVIDER,
        mailtrap.PROVIDER,
        mailwebhook.PROVIDER,
        mandrill.PROVIDER,
        postal.PROVIDER,
        postmark.PROVIDER,
        resend.PROVIDER,
        sendgrid.PROVIDER,
        ses.PROVIDER,
        sesmetric.PROVIDER,
        sparkpost.PROVIDER,
        standardwebhooks.PROVIDER,
        unisender.PROVIDER,
    )
}


def forms_of(sources: Mapping[str, Source]) -> dict[str, Form]:
    """Return what the secrets of each source must look like."""
    return {name: REGISTRY[source.provider].secret_form for name, source in sources.items()}
