"""The cloud assembly of the CDK app: synthesised here, its assets zipped as the CDK does."""

import compileall
import io
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.local_aws import ACCOUNT, REGION
from local.errors import LocalError
from local.options import ROOT

STACK = "Mailfold"


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One folder of code and where the template expects it."""

    folder: Path
    bucket: str
    key: str


def synthesise(folder: Path, *, publish: bool | None = None) -> None:
    """Run the CDK app into `folder`; publish stands in for the switch in cdk.json."""
    # The CDK's own validation takes most of the time of a synth and is the business of the infra tests.
    environment = {**os.environ, "CDK_OUTDIR": str(folder), "CDK_VALIDATION": "false"}
    if publish is not None:
        context = json.loads((ROOT / "cdk.json").read_text())["context"]
        # As the CDK's command line hands over its -c options.
        environment["CDK_CONTEXT_JSON"] = json.dumps({"mailfold": {**context["mailfold"], "publish": publish}})
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise LocalError(f"The CDK app failed:\n{(done.stderr or done.stdout).strip()}")


def read_template(folder: Path) -> dict[str, Any]:
    """Return the synthesised template."""
    template: dict[str, Any] = json.loads((folder / f"{STACK}.template.json").read_text())
    return template


def read_assets(folder: Path) -> list[Asset]:
    """Return the assets that are folders; the template itself is the only other one."""
    listed = json.loads((folder / f"{STACK}.assets.json").read_text())["files"].values()
    return [
        Asset(folder=folder / file["source"]["path"], bucket=_here(target["bucketName"]), key=target["objectKey"])
        for file in listed
        if file["source"]["packaging"] == "zip"
        for target in file["destinations"].values()
    ]


def _here(name: str) -> str:
    return name.replace("${AWS::AccountId}", ACCOUNT).replace("${AWS::Region}", REGION)


def zipped(folder: Path) -> bytes:
    """Return the zip of a folder's files, with bytecode: the emulator unpacks and imports it for every process."""
    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as scratch,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        copy = Path(scratch) / "asset"
        shutil.copytree(folder, copy)
        # Unchecked, because unpacking gives every file a new time, and bytecode of another time is not used.
        compileall.compile_dir(copy, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        for path in sorted(copy.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(copy))
    return buffer.getvalue()


def zipped_once(folder: Path) -> bytes:
    """Return the same, kept in a file beside a folder that never changes."""
    kept = folder.with_name(f"{folder.name}.zip")
    if not kept.exists():
        with tempfile.NamedTemporaryFile(dir=folder.parent, delete=False) as partial:
            partial.write(zipped(folder))
        Path(partial.name).rename(kept)
    return kept.read_bytes()
