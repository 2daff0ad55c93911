"""The data and the model: what a node has, what the server has, and how a model is trained."""

from functools import cache

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

CLASSES = np.arange(10)


def load_data(partition_id, num_partitions, seed=0):
    """Load one node's rows, in training and test rows; in the last four of ten nodes most labels are wrong."""
    X, y = _divided(seed)[0]
    rows = np.array_split(np.arange(len(y)), num_partitions)[partition_id]
    X, y = X[rows], y[rows]
    if partition_id >= 0.6 * num_partitions:
        wrong = np.random.default_rng([seed, partition_id]).random(len(y)) < 0.8
        y = np.where(wrong, (y + 3) % 10, y)
    return train_test_split(X, y, test_size=0.2, random_state=seed)


def load_server_data(seed=0):
    """Load the server's rows: a few to validate with, and those that a model is tested on."""
    X, y = _divided(seed)[1]
    return train_test_split(X, y, train_size=150, random_state=seed)


def get_model(seed=0):
    """Make a logistic regression before any training."""
    model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.1, random_state=seed)
    model.partial_fit(np.zeros((1, 64)), [0], classes=CLASSES)
    set_arrays(model, [np.zeros((10, 64)), np.zeros(10)])
    return model


def get_arrays(model):
    """Get the weights of a model."""
    return [model.coef_, model.intercept_]


def set_arrays(model, arrays):
    """Give a model other weights."""
    model.coef_, model.intercept_ = (np.array(array) for array in arrays)


def train(model, X, y, epochs):
    """Train a model on a node's rows."""
    for _ in range(epochs):
        model.partial_fit(X, y)


def test(model, X, y):
    """Get the accuracy of a model."""
    return float(model.score(X, y))


@cache
def _divided(seed):
    X, y = load_digits(return_X_y=True)
    X_nodes, X_server, y_nodes, y_server = train_test_split(X / 16, y, test_size=0.3, random_state=seed)
    return (X_nodes, y_nodes), (X_server, y_server)
