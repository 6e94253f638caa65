"""sweep: addresses whose soft bounces in a row are too many are stopped, and released when they are delivered to."""

from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry


def sweep(database: Database, telemetry: Telemetry, *, soft_limit: int, publish: bool) -> dict[str, int]:
    """Bring the soft stops to what the stored events amount to; running it again changes nothing."""
    with database.transaction() as tx:
        [[suppressed, lifted]] = tx.run("sweep", {"soft_limit": soft_limit, "publish": publish, "addresses": "null"})
    telemetry.count("SweepRuns")
    telemetry.count("AddressesStopped", suppressed)
    telemetry.count("AddressesReleased", lifted)
    telemetry.say("swept", suppressed=suppressed, lifted=lifted)
    return {"suppressed": suppressed, "lifted": lifted}
