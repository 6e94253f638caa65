"""The secrets of the local sources: made on the first run, kept for the next ones."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from local.state import write_private
from samples import Keys, sampler


def local_keys(path: Path, providers: Mapping[str, str]) -> dict[str, Keys]:
    """Return the keys of each source (name -> provider), making those that are missing."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    keys = {
        name: Keys(**kept[name]) if name in kept else sampler(provider).make_keys()
        for name, provider in providers.items()
    }
    write_private(path, {name: asdict(pair) for name, pair in keys.items()})
    return keys


def secret_value(keys: Mapping[str, Keys]) -> str:
    """Return what Secrets Manager holds: source -> its secrets, newest first."""
    return json.dumps({name: [pair.secret] for name, pair in keys.items()})
