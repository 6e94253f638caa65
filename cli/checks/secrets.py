"""Whether each source that comes through the door has secrets that can work."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from botocore.exceptions import ClientError

from cli.checks.examination import GONE, Examination, Finding, NotChecked, Note, Said
from cli.errors import CommandError
from cli.secrets import lost_sources, takes_requests, usable_of
from cli.vault import PREVIOUS, Vault, Version
from mailfold.providers import REGISTRY
from mailfold.secret_forms import fault_of

#: One that is used and one that is on its way out.
MOST_SECRETS = 2


def check_secrets(exam: Examination) -> Iterator[Said]:
    """Read the secret and look at every entry."""
    vault = Vault(exam.place.aws("secretsmanager"), exam.place.output("SecretArn"))
    try:
        version = vault.read()
    except CommandError as exc:
        what, _, fix = str(exc).partition(": ")
        yield Finding(what=what, fix=fix)
        return
    except ClientError as exc:
        code = exc.response["Error"]["Code"]
        if code not in GONE:
            raise NotChecked(f"secretsmanager get-secret-value answered {code}") from exc
        fix = f"aws secretsmanager restore-secret --secret-id {exam.place.output('SecretArn')}"
        yield Finding(what="the secret is not there", fix=fix)
        return
    needed = {name: source["provider"] for name, source in exam.sources.items() if takes_requests(source)}
    bare = [source for source, provider in needed.items() if not usable_of(source, provider, version)]
    lost = lost_sources(exam.sources, version, _before(vault)) if bare else {}
    for source, provider in needed.items():
        yield from _entry(source, provider, version, lost=source in lost)
    for name in sorted(version.entries.keys() - exam.sources.keys()):
        yield Finding(
            what=f"the secret has an entry {name}, which is no source", fix=f"bin/mailfold secrets remove {name}"
        )
    days = (datetime.now(UTC) - version.created_at).days
    yield Note(text=f"{len(needed)} sources need a secret; the last change was {days} days ago")


def _before(vault: Vault) -> Version | None:
    try:
        return vault.read_previous()
    except ClientError:
        # What is missing is a finding all the same; only the way back to it stays untold.
        return None


def _entry(source: str, provider: str, version: Version, *, lost: bool) -> Iterator[Said]:
    """Judge the entry of a source; lost says that only the version before has a secret that can be used."""
    also = f"; the version before this one ({PREVIOUS}) has one" if lost else ""
    fix = "bin/mailfold secrets restore" if lost else f"bin/mailfold secrets set {source}"
    if source not in version.entries:
        yield Finding(what=f"{source} has no secret{also}", fix=fix)
        return
    held = version.of(source)
    if not held:
        yield Finding(what=f"the secret of {source} is not a list of texts{also}", fix=fix)
        return
    form = REGISTRY[provider].secret_form
    faults = {fault for secret in held if (fault := fault_of(secret, form))}
    for fault in sorted(faults):
        how = fix if lost else f"take the right one from the provider: {fix}"
        yield Finding(what=f"a secret of {source} {fault}{also}", fix=how)
    # The ARNs of topics are no secrets, and several topics may stay admitted.
    if not REGISTRY[provider].certificate_url:
        yield from _overlap(source, provider, held, version)


def _overlap(source: str, provider: str, held: list[str], version: Version) -> Iterator[Said]:
    finish = f"bin/mailfold secrets rotate {source} --finish"
    if max(Counter(held).values()) > 1:
        yield Finding(what=f"{source} has the same secret twice", fix=f"bin/mailfold secrets set {source}")
    elif len(held) > MOST_SECRETS:
        yield Finding(what=f"{source} has {len(held)} secrets, and each of them opens the door", fix=finish)
    elif len(held) == MOST_SECRETS:
        hours = (datetime.now(UTC) - version.created_at).total_seconds() / 3600
        if hours > REGISTRY[provider].horizon_hours:
            what = f"the rotation of {source} was never finished: two secrets for {hours / 24:.0f} days"
            yield Finding(what=what, fix=finish)
