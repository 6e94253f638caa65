"""Login tokens for RDS: signed on this machine, without a call to AWS."""

#: RDS accepts a token for 15 minutes, and only at login.
LIFETIME_S = 900


def make_token(host: str, port: int, user: str) -> str:
    """Return a token that lets the function's IAM role log in as this user."""
    # Only a database on AWS needs botocore, and only at login.
    from botocore.model import ServiceId
    from botocore.session import Session
    from botocore.signers import RequestSigner

    session = Session()
    region = session.get_config_variable("region")
    signer = RequestSigner(
        ServiceId("rds-db"), region, "rds-db", "v4", session.get_credentials(), session.get_component("event_emitter")
    )
    endpoint = f"https://{host}:{port}/?Action=connect&DBUser={user}"
    request = {"method": "GET", "url": endpoint, "body": {}, "headers": {}, "context": {}}
    url = signer.generate_presigned_url(
        request, operation_name="connect", region_name=region, expires_in=LIFETIME_S, signing_name="rds-db"
    )
    return str(url).removeprefix("https://")
