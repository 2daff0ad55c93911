"""Judging rows at home: candidates compete on a client's own labels, and the competition's few numbers travel."""
