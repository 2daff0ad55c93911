"""Optimal transport: distances, plans, potentials and geodesics of weighted point clouds."""

from fedbary.transport.bures import bures_barycenter, bures_squared
from fedbary.transport.interpolation import barycentric_projection, interpolate
from fedbary.transport.result import Transport
from fedbary.transport.solve import solve
from fedbary.transport.target import Target

__all__ = [
    "Target",
    "Transport",
    "barycentric_projection",
    "bures_barycenter",
    "bures_squared",
    "interpolate",
    "solve",
]
