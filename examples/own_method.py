"""Try a method and a data set of your own in the experiments of this package.

The file registers both, and compares them when it is run as a script. `fedbary reproduce EXPERIMENT --with
own_method.py --data moons` puts them into an experiment: see [For researchers](../researcher.md).
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

import fedbary as fb
import fedbary_lab


def margin(table, reference, _seed):
    """How much nearer a row is to the reference rows of its own class than to those of others."""
    apart = cdist(table.columns["x"], reference.columns["x"])
    same = table.labels[:, None] == reference.labels
    return np.where(same, np.inf, apart).min(axis=1) - np.where(same, apart, np.inf).min(axis=1)


def own_accuracy(setting):
    """Accuracy of each client's own model in the last round."""
    return setting.evaluate(setting.log.rounds[-1].models)


fb.datasets.register("moons", lambda: make_moons(1500, noise=0.2, random_state=0))
fedbary_lab.register_row_method("margin", margin)
fedbary_lab.register_client_method("own-accuracy", own_accuracy)

if __name__ == "__main__":
    moons = fb.datasets.load("moons")
    rows, wrong = fb.corruptions.flip_labels(moons.train.take(range(300)), 0.1, seed=0)
    found = fb.compare_rows({"mine": rows}, moons.test, methods=["margin", "logistic", "lava"], wrong={"mine": wrong})
    print(found.summary()[["method", "auroc"]].round(3).to_string(index=False))
