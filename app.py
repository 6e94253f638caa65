"""The CDK app: reads cdk.json, builds the one stack, writes cdk.out. Needs no account and no node on the PATH."""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT), str(ROOT / "layers/mailfold/python")]

from infra.node import prepare_cdk  # noqa: E402 - the path comes first
from infra.rules import SettingsError  # noqa: E402
from infra.settings import CONTEXT_KEY, Settings  # noqa: E402
from infra.sources import known_providers  # noqa: E402

prepare_cdk()


def main() -> None:
    """Write the cloud assembly, or leave with one sentence about the setting that is wrong."""
    from aws_cdk import App

    from infra.stack import MailfoldStack

    # The CDK's command line passes this context by itself, and its -c options over it; a plain Python does not.
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(
        context=context,
        outdir=os.environ.get("CDK_OUTDIR", str(ROOT / "cdk.out")),
        analytics_reporting=False,
        tree_metadata=False,
    )
    try:
        settings = Settings.from_context(app.node.try_get_context(CONTEXT_KEY), providers=known_providers())
    except SettingsError as error:
        sys.exit(f"cdk.json: {error}")
    MailfoldStack(app, "Mailfold", settings=settings)
    app.synth()


if __name__ == "__main__":
    main()
