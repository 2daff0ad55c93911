"""A Flower app that trains on handwritten digits, and values its nodes before."""
