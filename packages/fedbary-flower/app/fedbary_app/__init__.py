"""FedBary as a Flower app: copy this folder, or run it in place with `flwr run`."""
