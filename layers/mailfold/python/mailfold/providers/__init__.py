"""Every provider Mailfold understands, by name."""

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
