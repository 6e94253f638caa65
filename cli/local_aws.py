"""Clients for the emulated AWS that cannot reach the real one."""

import os
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

REGION = "us-east-1"
#: What the emulator calls the owner of access keys that are not twelve digits.
ACCOUNT = "000000000000"

# The developer's own profile, keys and proxies must have no say here, or a slip would act on a real account.
_NOT_CONFIGURED = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}


def client(service: str, endpoint: str) -> Any:
    """Return a client of one service of the emulator at `endpoint`."""
    session = botocore.session.Session(_NOT_CONFIGURED)
    session.set_credentials("test", "test")
    config = Config(proxies={}, retries={"mode": "standard", "max_attempts": 2}, read_timeout=120)
    return boto3.Session(botocore_session=session).client(
        service, region_name=REGION, endpoint_url=endpoint, config=config
    )
