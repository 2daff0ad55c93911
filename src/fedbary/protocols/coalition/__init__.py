"""Shapley values without training: clients send class-wise centroids once, the server plays coalitions of them."""

from fedbary.protocols.coalition.settings import Coalition

__all__ = ["Coalition"]
