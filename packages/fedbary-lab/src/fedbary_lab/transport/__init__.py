"""Optimal transport that only comparisons and the paper's experiments need: entropic potentials, barycenters."""
