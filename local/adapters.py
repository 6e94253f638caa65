"""Break an adapter of the running stack, and fix it, the way a deploy would: by another version of the layer."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.local_aws import client
from cli.local_stack import Stack
from local.assembly import zipped
from local.options import ROOT

LAYER = ROOT / "layers/mailfold"
#: The functions that turn raw into events.
READERS = ("process", "operate")

#: A bug in a mapping: from one version to the next, the adapter looks for something that no event has.
BUG = """

def _stumble(raw, origin):
    raise UnparseableEvent("no such field")


PROVIDER = __import__("dataclasses").replace(PROVIDER, parse=_stumble)
"""


@contextmanager
def broken_adapter(stack: Stack, provider: str) -> Iterator[None]:
    """Deploy a version in which every event of one provider is unparseable, and the old version again at the end."""
    functions = client("lambda", stack.aws_endpoint)
    names = [stack.functions[step] for step in READERS]
    before = {name: _layers(functions, name) for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        archive = zipped(_broken_copy(Path(scratch), provider))
    published = functions.publish_layer_version(LayerName="broken", Content={"ZipFile": archive})
    try:
        for name, layers in before.items():
            broken = [published["LayerVersionArn"] if _is_ours(functions, arn) else arn for arn in layers]
            functions.update_function_configuration(FunctionName=name, Layers=broken)
        yield
    finally:
        for name, layers in before.items():
            functions.update_function_configuration(FunctionName=name, Layers=layers)
        functions.close()


def _broken_copy(scratch: Path, provider: str) -> Path:
    copy = scratch / "mailfold"
    shutil.copytree(LAYER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    module = copy / f"python/mailfold/providers/{provider}.py"
    module.write_text(f"{module.read_text()}\nfrom mailfold.errors import UnparseableEvent\n{BUG}")
    return copy


def _layers(functions: Any, name: str) -> list[str]:
    return [layer["Arn"] for layer in functions.get_function_configuration(FunctionName=name)["Layers"]]


def _is_ours(functions: Any, arn: str) -> bool:
    description: str = functions.get_layer_version_by_arn(Arn=arn).get("Description", "")
    return description == "The mailfold package"
