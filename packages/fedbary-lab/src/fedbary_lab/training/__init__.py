"""Federated training and its log: what the methods that need trained models work on. PyTorch is optional."""
