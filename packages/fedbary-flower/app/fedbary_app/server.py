"""The coordinator's side."""

from fedbary_flower.server_app import app

__all__ = ["app"]
