"""Find a Chromium for the tests of the console, and install Debian's where that is possible."""

import os
import shutil
import subprocess
from pathlib import Path

#: Names under which distributions and Google install it.
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    # A container's root has no sandbox to give; the tests open nothing but pages of their own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
INSTALL = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)


def find_browser() -> Path | None:
    """Return a browser that is there."""
    named = os.environ.get("MAILFOLD_CHROMIUM")
    if named:
        return Path(named)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return Path(found) if found else None


def ensure_browser() -> Path | None:
    """Return a browser, installed now if need be; None where that cannot be done."""
    if find_browser() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print("installing Debian's chromium for the tests of the console ...", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in INSTALL:
            if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode != 0:
                return None
    return find_browser()
