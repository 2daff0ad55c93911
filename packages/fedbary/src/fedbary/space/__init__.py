"""Rows become points: the agreed schema, scaling, projection, whitening and label coordinates."""
