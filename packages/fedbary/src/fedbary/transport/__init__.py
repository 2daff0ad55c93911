"""Optimal transport: distances, plans, potentials, geodesics and barycenters of weighted point clouds."""

from fedbary.transport.barycenter import Barycenter, barycenter_step, free_support_barycenter
from fedbary.transport.bures import bures_barycenter, bures_squared
from fedbary.transport.interpolation import barycentric_projection, interpolate
from fedbary.transport.result import Transport
from fedbary.transport.solve import solve
from fedbary.transport.target import Target

__all__ = [
    "Barycenter",
    "Target",
    "Transport",
    "barycenter_step",
    "barycentric_projection",
    "bures_barycenter",
    "bures_squared",
    "free_support_barycenter",
    "interpolate",
    "solve",
]
