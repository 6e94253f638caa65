"""make sbom: what the Lambda layer holds, as CycloneDX JSON; the same lock file gives the same bytes."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from local.bootstrap import ROOT

LOCK = ROOT / "layers/dependencies/requirements.txt"
OUTPUT = ROOT / ".build/mailfold-layer.cdx.json"
SPEC = "1.6"

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
#: Classifiers of packages that state no SPDX expression: https://pypi.org/classifiers/ and https://spdx.org/licenses/
SPDX = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: MIT No Attribution License (MIT-0)": "MIT-0",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}


@dataclass(frozen=True, kw_only=True)
class Package:
    """One pinned package of a lock file."""

    name: str
    version: str
    #: SHA-256 of each file that may be installed for it, on any platform.
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its package URL: https://github.com/package-url/purl-spec."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages_of(lock: str) -> Iterator[Package]:
    """Read a lock file as uv writes it."""
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        pinned = _PINNED.match(entry)
        if pinned:
            name = re.sub(r"[-_.]+", "-", pinned[1]).lower()
            yield Package(name=name, version=pinned[2], hashes=tuple(sorted(_HASH.findall(entry))))


def licence_of(package: Package) -> dict[str, Any]:
    """Return what the installed package of the same version says about its licence."""
    try:
        found = metadata(package.name)
    except PackageNotFoundError:
        sys.exit(f"{package.name} is not installed, so its licence is not known: run make setup")
    if found["Version"] != package.version:
        sys.exit(
            f"{package.name} is installed as {found['Version']} and locked as {package.version}, so the licence of the "
            "locked version is not known: run make lock, then make setup"
        )
    return _licence(package, found)


def _licence(package: Package, found: PackageMetadata) -> dict[str, Any]:
    for expression in found.get_all("License-Expression", []):
        return {"expression": expression}
    classified = [SPDX[each] for each in found.get_all("Classifier", []) if each in SPDX]
    if classified:
        return {"expression": " OR ".join(sorted(classified))}
    stated = " ".join(found.get_all("License", [])).strip()
    if not stated or "\n" in stated:
        sys.exit(f"{package.name} {package.version} states no licence that can be read: add its classifier to SPDX")
    return {"license": {"name": stated}}


def bom_of(packages: Sequence[Package]) -> dict[str, Any]:
    """Return the bill of materials, without a time or a random number in it."""
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {"component": {"type": "library", "name": "mailfold-layer", "bom-ref": "mailfold-layer"}},
        "components": [_component(package) for package in sorted(packages, key=lambda each: each.name)],
    }


def _component(package: Package) -> dict[str, Any]:
    # The hashes are those of files, one for each platform, so they stand with what is downloaded.
    files = [{"alg": "SHA-256", "content": digest} for digest in package.hashes]
    page = f"https://pypi.org/project/{package.name}/{package.version}/"
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "licenses": [licence_of(package)],
        "externalReferences": [{"type": "distribution", "url": page, "hashes": files}],
    }


def main(output: Path = OUTPUT) -> None:
    """Write the file and say where it is."""
    bom = bom_of(list(packages_of(LOCK.read_text())))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(bom, indent=2, sort_keys=True) + "\n")
    shown = output.relative_to(ROOT) if output.is_relative_to(ROOT) else output
    print(f"{shown}: {len(bom['components'])} packages")


if __name__ == "__main__":
    main()
