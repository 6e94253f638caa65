"""When the database rings: before it has run out of something."""

from collections.abc import Iterator

from aws_cdk import Duration
from aws_cdk import aws_rds as rds

from infra.alarm_rules import FIVE_MINUTES, Rule
from infra.connections import max_connections
from infra.settings import Settings

GIB = 1024**3


def database_rules(instance: rds.DatabaseInstance, settings: Settings) -> Iterator[Rule]:
    """Watch what the database may run out of."""
    yield Rule(
        name="DatabaseCpu",
        metric=instance.metric_cpu_utilization(period=FIVE_MINUTES, statistic="Average"),
        line=80,
        periods=3,
        says="The database's processor is busy for more than 80 % of the time.",
        runbook="the-database-is-busy",
    )
    yield Rule(
        name="DatabaseConnections",
        metric=instance.metric_database_connections(period=FIVE_MINUTES, statistic="Maximum"),
        line=0.7 * max_connections(settings.database_class),
        periods=3,
        says="Most of the connections that the database admits are in use.",
        runbook="the-database-runs-out-of-connections",
    )
    yield Rule(
        name="DatabaseStorage",
        metric=instance.metric_free_storage_space(period=FIVE_MINUTES, statistic="Minimum"),
        line=0.2 * settings.database_storage_gb * GIB,
        below=True,
        says="Less than a fifth of the database's first storage is free.",
        runbook="the-database-runs-out-of-storage",
    )
    if settings.database_class.startswith("t"):
        yield Rule(
            name="DatabaseCredits",
            metric=instance.metric("CPUCreditBalance", period=Duration.minutes(15), statistic="Minimum"),
            line=20,
            below=True,
            # A new instance begins with none and earns as many within two hours.
            periods=12,
            says="The database has used up the processor time that its class saves up.",
            runbook="the-database-is-busy",
        )
