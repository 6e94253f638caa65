"""The two layers: our package, and the third-party packages it needs."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.dependencies import ROOT, build_dependencies

# The one place that says what the functions run on.
RUNTIME = lambda_.Runtime.PYTHON_3_14
PYTHON_VERSION = "3.14"
ARCHITECTURE = lambda_.Architecture.ARM_64
PLATFORM = "aarch64-manylinux2014"

#: What a developer's tools leave in a folder, kept out of the assets so that their hashes depend on the source alone.
JUNK = ["**/__pycache__", "**/*.pyc", "**/.*"]


class Layers(Construct):
    """Both layers, on every function: a shared layer is stored once and cached by Lambda."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.mailfold = self._layer("Mailfold", str(ROOT / "layers/mailfold"), "The mailfold package")
        self.dependencies = self._layer(
            "Dependencies",
            str(build_dependencies(platform=PLATFORM, python_version=PYTHON_VERSION)),
            "Third-party packages of layers/dependencies",
        )

    def _layer(self, construct_id: str, folder: str, description: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            construct_id,
            code=lambda_.Code.from_asset(folder, exclude=JUNK),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
            description=description,
        )
