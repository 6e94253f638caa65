"""Log groups: always explicit, never without an end."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.settings import LOG_RETENTION, Settings


def log_group(scope: Construct, construct_id: str, *, settings: Settings, name: str | None = None) -> logs.LogGroup:
    """Create a log group with the configured retention, which goes away with the stack."""
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=logs.RetentionDays[LOG_RETENTION[settings.log_retention_days]],
        removal_policy=RemovalPolicy.DESTROY,
    )
