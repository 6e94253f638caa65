"""Whether each source that comes through the door has secrets that can work."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from botocore.exceptions import ClientError

from cli.checks.examination import GONE, Examination, Finding, NotChecked, Note, Said
from cli.errors import CommandError
from cli.forms import fault_of, horizon_hours
from cli.secrets import takes_requests
from cli.vault import NOT_AN_OBJECT, Vault, Version

#: One that is used and one that is on its way out.
MOST_SECRETS = 2


def check_secrets(exam: Examination) -> Iterator[Said]:
    """Read the secret and look at every entry."""
    vault = Vault(exam.place.aws("secretsmanager"), exam.place.output("SecretArn"))
    try:
        version = vault.read()
    except CommandError:
        what, _, mend = NOT_AN_OBJECT.partition(": ")
        yield Finding(what=what, mend=mend)
        return
    except ClientError as exc:
        code = exc.response["Error"]["Code"]
        if code not in GONE:
            raise NotChecked(f"secretsmanager get-secret-value answered {code}") from exc
        mend = f"aws secretsmanager restore-secret --secret-id {exam.place.output('SecretArn')}"
        yield Finding(what="the secret is not there", mend=mend)
        return
    needed = {name: source["provider"] for name, source in exam.sources.items() if takes_requests(source)}
    for source, provider in needed.items():
        yield from _entry(source, provider, version)
    for name in sorted(version.entries.keys() - exam.sources.keys()):
        yield Finding(
            what=f"the secret has an entry {name}, which is no source", mend=f"bin/mailfold secrets remove {name}"
        )
    days = (datetime.now(UTC) - version.created_at).days
    yield Note(text=f"{len(needed)} sources need a secret; the last change was {days} days ago")


def _entry(source: str, provider: str, version: Version) -> Iterator[Said]:
    set_it = f"bin/mailfold secrets set {source}"
    if source not in version.entries:
        yield Finding(what=f"{source} has no secret", mend=set_it)
        return
    held = version.of(source)
    if not held:
        yield Finding(what=f"the secret of {source} is not a list of texts", mend=set_it)
        return
    faults = {fault for secret in held if (fault := fault_of(provider, secret))}
    for fault in sorted(faults):
        yield Finding(what=f"a secret of {source} {fault}", mend=f"take the right one from the provider: {set_it}")
    yield from _overlap(source, provider, held, version)


def _overlap(source: str, provider: str, held: list[str], version: Version) -> Iterator[Said]:
    finish = f"bin/mailfold secrets rotate {source} --finish"
    if max(Counter(held).values()) > 1:
        yield Finding(what=f"{source} has the same secret twice", mend=f"bin/mailfold secrets set {source}")
    elif len(held) > MOST_SECRETS:
        yield Finding(what=f"{source} has {len(held)} secrets, and each of them opens the door", mend=finish)
    elif len(held) == MOST_SECRETS:
        hours = (datetime.now(UTC) - version.created_at).total_seconds() / 3600
        if hours > horizon_hours(provider):
            what = f"the rotation of {source} was never finished: two secrets for {hours / 24:.0f} days"
            yield Finding(what=what, mend=finish)
