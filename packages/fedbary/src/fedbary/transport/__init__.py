"""Optimal transport: distances, plans, potentials and geodesics of weighted point clouds."""

from fedbary.transport.bures import bures_barycenter, bures_squared
from fedbary.transport.result import Transport, barycentric_projection, interpolate
from fedbary.transport.solve import Target, solve

__all__ = [
    "Target",
    "Transport",
    "barycentric_projection",
    "bures_barycenter",
    "bures_squared",
    "interpolate",
    "solve",
]
