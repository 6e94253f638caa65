"""How AWS is reached: in which region, at which addresses and in whose name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """In whose name AWS is called; the fields have the names that botocore's signers read."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Access:
    """One function's way to AWS."""

    region: str
    #: Asked before every call: whoever runs the function may renew them.
    credentials: Callable[[], Credentials]
    #: The services that are not where AWS has them, such as those of an emulator.
    endpoints: Mapping[str, str]

    def url(self, service: str) -> str:
        """Return the address of a service."""
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return self.endpoints.get(service) or f"https://{service}.{self.region}.{suffix}"
