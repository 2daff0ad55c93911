"""A data owner's side."""

from fedbary.engines.flower.client_app import app

__all__ = ["app"]
