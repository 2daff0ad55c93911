"""Privacy: noise with a proof, and guards that do not depend on the other party."""
