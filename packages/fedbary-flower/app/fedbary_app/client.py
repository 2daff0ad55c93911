"""A data owner's side."""

from fedbary_flower.client_app import app

__all__ = ["app"]
