"""What `fedbary doctor` says of Flower."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fedbary.deploy.network import Finding, package_finding
from fedbary_flower.scripts import ENVIRONMENT


def findings() -> Iterator[Finding]:
    """Whether it is of a release that was tried, and whether programs that one types oneself call home."""
    yield package_finding("fedbary-flower", "real federations")
    quiet = {name: value for name, value in ENVIRONMENT.items() if "INSTALLATION" not in name}
    unset = [f"{name}={value}" for name, value in quiet.items() if os.environ.get(name) != value]
    if unset:
        words = "flwr commands that you type yourself call home; fedbary's own scripts do not"
        yield Finding("Flower telemetry", "missing", words, f"export {' '.join(unset)}")
    else:
        yield Finding("Flower telemetry", "ok", "off")
