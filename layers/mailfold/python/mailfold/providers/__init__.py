"""Every provider Mailfold understands, by name."""

from mailfold.providers import sendgrid, ses, sesmetric
from mailfold.providers.base import Provider

REGISTRY: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        sendgrid.PROVIDER,
        ses.PROVIDER,
        sesmetric.PROVIDER,
    )
}
