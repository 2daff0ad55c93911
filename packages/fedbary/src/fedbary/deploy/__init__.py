"""A federation as a folder: its plan, what every network answers for, and what is found wrong with it."""
