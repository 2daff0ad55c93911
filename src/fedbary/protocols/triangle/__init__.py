"""TriangleWad (Li & Pang 2024): one round, a similar triangle instead of a search. A peer to compare with."""

from fedbary.protocols.triangle.settings import Triangle

__all__ = ["Triangle"]
