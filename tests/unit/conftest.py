"""How much chance the unit tests may take: the same examples in every run, however busy the machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "mailfold",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("mailfold")
