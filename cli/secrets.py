"""mailfold secrets: who has one, set it, rotate it. No value is ever printed, nor taken from the command line."""

import argparse
import getpass
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cli.errors import DECLINED, DONE, CommandError
from cli.place import Place
from cli.show import as_json, cell, table
from cli.vault import PREVIOUS, Vault, Version
from mailfold.providers import REGISTRY
from mailfold.secret_forms import fault_of

#: How long receive may keep what it has read.
KEPT_MINUTES = 5


def add_parsers(commands: Any) -> None:
    """Add the commands."""
    secrets = commands.add_parser("secrets", help="which sources have a secret; set or rotate one")
    secrets.set_defaults(run=show_secrets)
    actions = secrets.add_subparsers(metavar="ACTION")
    one = actions.add_parser("set", help="make this the only secret of a source; read from standard input or a prompt")
    one.add_argument("source", metavar="SOURCE")
    one.set_defaults(run=set_secret)
    rotate = actions.add_parser("rotate", help="put a new secret in front of the old one; both are accepted")
    rotate.add_argument("source", metavar="SOURCE")
    rotate.add_argument("--finish", action="store_true", help="drop the old one")
    rotate.add_argument("--now", action="store_true", help="with --finish: even if the provider may still use it")
    rotate.set_defaults(run=rotate_secret)
    add = actions.add_parser("add", help="put one more secret in front of all others, such as a further topic of SES")
    add.add_argument("source", metavar="SOURCE")
    add.set_defaults(run=add_secret)
    restore = actions.add_parser("restore", help="take back what an overwrite of the whole secret has dropped")
    restore.set_defaults(run=restore_secrets)
    remove = actions.add_parser("remove", help="drop the entry of a name that is no source any more")
    remove.add_argument("source", metavar="SOURCE")
    remove.set_defaults(run=remove_entry)


def show_secrets(arguments: argparse.Namespace, place: Place) -> int:
    """Show how many secrets each source has, and since when the whole is as it is."""
    sources, version = place.order("sources")["sources"], _vault(place).read()
    rows = [
        {
            "source": name,
            "provider": source["provider"],
            "secrets": len(version.of(name)),
            "needed": takes_requests(source),
        }
        for name, source in sources.items()
    ]
    changed_at = version.created_at.astimezone(UTC).isoformat()
    if arguments.json:
        print(as_json({"changed_at": changed_at, "sources": rows}))
        return DONE
    print(table(rows, {name: name for name in ("source", "provider", "secrets", "needed")}))
    print(f"\nlast changed {cell(changed_at)}")
    return DONE


def set_secret(arguments: argparse.Namespace, place: Place) -> int:
    """Replace the secrets of a source by one."""
    source = _known(place, arguments.source)
    vault = _vault(place)
    version = vault.read()
    secret = _asked(arguments, source)
    vault.replace(version, {**version.entries, arguments.source: [secret]})
    return _tell(arguments, 1, f"{arguments.source} has this one secret now")


def add_secret(arguments: argparse.Namespace, place: Place) -> int:
    """Put one more secret in front of those of a source; all are accepted."""
    source = _known(place, arguments.source)
    vault = _vault(place)
    version = vault.read()
    held = version.of(arguments.source)
    secret = _asked(arguments, source)
    if secret in held:
        raise CommandError(f"{arguments.source} has this secret already", DECLINED)
    vault.replace(version, {**version.entries, arguments.source: [secret, *held]})
    return _tell(arguments, len(held) + 1, f"{arguments.source} accepts each of its {len(held) + 1} secrets now")


def rotate_secret(arguments: argparse.Namespace, place: Place) -> int:
    """Let a new secret and the one before it overlap, or end that."""
    source = _known(place, arguments.source)
    vault = _vault(place)
    version = vault.read()
    held = version.of(arguments.source)
    if not held:
        raise CommandError(
            f"{arguments.source} has no secret yet: bin/mailfold secrets set {arguments.source}", DECLINED
        )
    if arguments.finish:
        return _finish(arguments, source, vault, version)
    secret = _asked(arguments, source)
    if secret in held:
        raise CommandError(f"{arguments.source} has this secret already", DECLINED)
    vault.replace(version, {**version.entries, arguments.source: [secret, held[0]]})
    hours = REGISTRY[source["provider"]].horizon_hours
    return _tell(
        arguments,
        2,
        f"{arguments.source} accepts the new secret and the old one. Switch at the provider now; "
        f"{hours} hours later: bin/mailfold secrets rotate {arguments.source} --finish",
    )


def _finish(arguments: argparse.Namespace, source: Mapping[str, Any], vault: Vault, version: Version) -> int:
    newest, *older = version.of(arguments.source)
    if not older:
        return _tell(arguments, 1, f"{arguments.source} has one secret: there is nothing to finish")
    hours = REGISTRY[source["provider"]].horizon_hours
    since = (datetime.now(UTC) - version.created_at).total_seconds() / 3600
    if since < hours and not arguments.now:
        raise CommandError(
            f"the secret was changed {since:.0f} hours ago, and {source['provider']} may send requests proven with the "
            f"old one for {hours}: wait, or drop it with --now",
            DECLINED,
        )
    vault.replace(version, {**version.entries, arguments.source: [newest]})
    return _tell(arguments, 1, f"{arguments.source} has one secret; the old one is refused in {KEPT_MINUTES} minutes")


def restore_secrets(arguments: argparse.Namespace, place: Place) -> int:
    """Give each source that has no secret now what it had in the version before, all in one change."""
    vault = _vault(place)
    version, before = vault.read(), vault.read_previous()
    found = lost_sources(place.order("sources")["sources"], version, before)
    if not found:
        raise CommandError(
            f"no source is without a secret that the version before ({PREVIOUS}) has: nothing was changed", DECLINED
        )
    vault.replace(version, {**version.entries, **found})
    print(as_json({"restored": list(found)}) if arguments.json else f"restored: {', '.join(found)}")
    return DONE


def remove_entry(arguments: argparse.Namespace, place: Place) -> int:
    """Drop what belongs to no source."""
    if arguments.source in place.order("sources")["sources"]:
        raise CommandError(f"{arguments.source} is a source: take it out of cdk.json and deploy first", DECLINED)
    vault = _vault(place)
    version = vault.read()
    if arguments.source not in version.entries:
        raise CommandError(f"the secret has no entry {arguments.source}", DECLINED)
    vault.replace(version, {name: held for name, held in version.entries.items() if name != arguments.source})
    return _tell(arguments, 0, f"the entry {arguments.source} is gone")


def usable_of(name: str, provider: str, version: Version | None) -> list[str]:
    """Return the secrets of a source that receive would use."""
    form = REGISTRY[provider].secret_form
    return [secret for secret in version.of(name) if fault_of(secret, form) is None] if version else []


def lost_sources(
    sources: Mapping[str, Mapping[str, Any]], version: Version, before: Version | None
) -> dict[str, list[str]]:
    """Return, for each source without a usable secret, those that only the version before has."""
    bare = {name: source["provider"] for name, source in sources.items() if takes_requests(source)}
    bare = {name: provider for name, provider in bare.items() if not usable_of(name, provider, version)}
    return {name: found for name, provider in bare.items() if (found := usable_of(name, provider, before))}


def takes_requests(source: Mapping[str, Any]) -> bool:
    """Tell whether a source comes through the door, and so needs a secret."""
    provider = REGISTRY[source["provider"]]
    return provider.verify is not None and (provider.unwrap is None or source.get("http") is True)


def _vault(place: Place) -> Vault:
    return Vault(place.aws("secretsmanager"), place.output("SecretArn"))


def _known(place: Place, name: str) -> dict[str, Any]:
    sources = place.order("sources")["sources"]
    if name not in sources:
        raise CommandError(f"{name} is no source; known are {', '.join(sources)}", DECLINED)
    source: dict[str, Any] = sources[name]
    if not takes_requests(source):
        raise CommandError(f"{name} needs no secret: its events come through the topic", DECLINED)
    return source


def _asked(arguments: argparse.Namespace, source: Mapping[str, Any]) -> str:
    """Read a secret where neither the screen, the history nor the list of processes shows it."""
    if sys.stdin.isatty():
        try:
            secret = getpass.getpass(f"secret of {arguments.source}: ")
        except EOFError:
            secret = ""  # nosec B105 - nothing was typed
    else:
        # The line end is the pipe's, not the secret's.
        secret = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not secret:
        raise CommandError("no secret was given: type it, or send it to standard input")
    fault = fault_of(secret, REGISTRY[source["provider"]].secret_form)
    if fault:
        raise CommandError(f"this {fault}; receive would not use it, and nothing was changed", DECLINED)
    return secret


def _tell(arguments: argparse.Namespace, count: int, sentence: str) -> int:
    print(as_json({"source": arguments.source, "secrets": count}) if arguments.json else sentence)
    return DONE
