"""Judging rows at home: what a client finds in its own labels and features, and what the server concludes."""
