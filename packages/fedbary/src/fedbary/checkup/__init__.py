"""The owner's data doctor: what a table holds, what is wrong with it, and what a federation would refuse."""
