"""What `fedbary doctor` says of NVIDIA FLARE."""

from __future__ import annotations

from fedbary.deploy.network import Finding, package_finding


def findings() -> list[Finding]:
    """Whether it is of a release that was tried."""
    return [package_finding("fedbary-nvflare", "real federations over NVIDIA FLARE")]
