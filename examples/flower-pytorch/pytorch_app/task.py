"""The data and the model: what a node has, what the server has, and how a model is trained."""

from functools import cache

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """A small net for pictures of 8 × 8 pixels."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, images):
        """Score the ten digits."""
        return self.layers(images)


def load_data(partition_id, num_partitions, batch_size, seed=0):
    """Load one node's rows, in training and test rows; in the last four of ten nodes most labels are wrong."""
    X, y = _divided(seed)[0]
    rows = np.array_split(np.arange(len(y)), num_partitions)[partition_id]
    X, y = X[rows], y[rows]
    if partition_id >= 0.6 * num_partitions:
        wrong = np.random.default_rng([seed, partition_id]).random(len(y)) < 0.8
        y = np.where(wrong, (y + 3) % 10, y)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    shuffled = torch.Generator().manual_seed(seed)
    trainloader = DataLoader(_dataset(X_train, y_train), batch_size, shuffle=True, generator=shuffled)
    return trainloader, DataLoader(_dataset(X_test, y_test), batch_size)


def load_server_data(seed=0):
    """Load the server's rows: a few to validate with, and those that a model is tested on."""
    X, y = _divided(seed)[1]
    X_valid, X_test, y_valid, y_test = train_test_split(X, y, train_size=150, random_state=seed)
    return DataLoader(_dataset(X_valid, y_valid), 64), DataLoader(_dataset(X_test, y_test), 64)


def train(net, trainloader, epochs, lr, proximal_mu=0.0):
    """Train a model on a node's rows, by FedProx not too far from where it began."""
    before = [weights.detach().clone() for weights in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(epochs):
        for images, labels in trainloader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            away = sum(((now - then) ** 2).sum() for now, then in zip(net.parameters(), before, strict=True))
            (loss + proximal_mu / 2 * away).backward()
            optimizer.step()


def test(net, testloader):
    """Get the accuracy of a model."""
    with torch.no_grad():
        right = sum(int((net(images).argmax(1) == labels).sum()) for images, labels in testloader)
    return right / len(testloader.dataset)


def _dataset(X, y):
    return TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y))


@cache
def _divided(seed):
    X, y = load_digits(return_X_y=True)
    X_nodes, X_server, y_nodes, y_server = train_test_split(X / 16, y, test_size=0.3, random_state=seed)
    return (X_nodes, y_nodes), (X_server, y_server)
