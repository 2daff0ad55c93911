"""The coordinator's side."""

from fedbary.engines.flower.server_app import app

__all__ = ["app"]
