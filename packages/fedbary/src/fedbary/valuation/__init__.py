"""Results: what clients and rows are worth, and how that is kept."""
