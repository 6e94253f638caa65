"""What is normal for a source: the rates that providers tolerate, and when its silence is strange."""

from dataclasses import dataclass

#: With fewer events than this in the hour of a usual day, an hour without any may be chance.
USUAL_EVENTS = 20
#: Less than this part of the usual is a drop that no ordinary day explains.
QUIET_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Line:
    """A rate that must not be reached, and what it takes for the rate to mean anything."""

    percent: float
    least_sends: int
    least_events: int

    def rate(self, events: int, sends: int) -> float:
        """Return the rate in percent; 0 as long as too little was sent, or too little happened, to speak of one."""
        if sends < self.least_sends or events < self.least_events:
            return 0.0
        return 100 * events / sends


# The lines of an hour are for what goes wrong fast: https://github.com/PostHog/posthog/pull/89879 warns at these. The
# lines of a day lie below those of SES, which reviews a sender from 5 % hard bounces and 0.1 % complaints on:
# https://docs.aws.amazon.com/ses/latest/dg/faqs-enforcement.html. Hence so few events are enough (docs/decisions/0071).
THRESHOLDS = {
    "HardBouncePercentHour": Line(percent=5.0, least_sends=200, least_events=20),
    "HardBouncePercentDay": Line(percent=2.5, least_sends=1_000, least_events=25),
    "ComplaintPercentHour": Line(percent=0.5, least_sends=200, least_events=5),
    "ComplaintPercentDay": Line(percent=0.08, least_sends=1_000, least_events=4),
}


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What one source said; the fields are the columns of store/sql/watch.sql."""

    #: None when it said nothing in a day.
    silent_seconds: int | None = None
    hour_events: int = 0
    hour_sends: int = 0
    hour_bounced: int = 0
    hour_complained: int = 0
    day_sends: int = 0
    day_bounced: int = 0
    day_complained: int = 0
    #: In the same hour of the seven days before, together.
    week_events: int = 0
    #: In the same hour of the middle one of these days, by their number of events.
    median_events: int = 0
    #: In the same hour a week ago.
    weekday_events: int = 0

    @property
    def rates(self) -> dict[str, float]:
        """Return each rate in percent, under the name of its line."""
        counted = {
            "HardBouncePercentHour": (self.hour_bounced, self.hour_sends),
            "HardBouncePercentDay": (self.day_bounced, self.day_sends),
            "ComplaintPercentHour": (self.hour_complained, self.hour_sends),
            "ComplaintPercentDay": (self.day_complained, self.day_sends),
        }
        return {name: line.rate(*counted[name]) for name, line in THRESHOLDS.items()}

    @property
    def is_quiet(self) -> bool:
        """Tell whether far less came than at this hour of other days, or nothing at all for a day.

        Both the middle day and the same weekday must have had more: a weekend is no failure, and neither is the hour
        after a week in which one large mailing went out.
        """
        usual = min(self.median_events, self.weekday_events)
        dropped = usual >= USUAL_EVENTS and self.hour_events < QUIET_SHARE * usual
        silent = self.silent_seconds is None and self.week_events >= USUAL_EVENTS and self.weekday_events > 0
        return dropped or silent
