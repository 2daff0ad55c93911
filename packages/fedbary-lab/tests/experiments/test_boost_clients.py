"""Whole clients are left out or weighed as the verdict says, and that is what is trained on."""

import numpy as np
import pytest

import fedbary as fb
from fedbary_lab.boosting import trained_accuracy
from fedbary_lab.experiments.boost import table
from fedbary_lab.experiments.boost_clients import WAYS, cells, compute, markdown
from fedbary_lab.training.fedavg import run
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.models import Logistic


@pytest.fixture(scope="module")
def federation():
    digits = fb.datasets.load("digits")
    return Federation.from_tables(fb.partitions.by_size(digits.train, [100, 300, 200]).clients, digits.test)


def test_weights_replace_the_number_of_rows(federation):
    log = run(Logistic(), federation, FedAvg(rounds=2), weights=[3, 1, 1])
    for model, done in zip(log.global_models, log.rounds, strict=True):
        np.testing.assert_allclose(model, np.array([0.6, 0.2, 0.2]) @ done.models, atol=1e-6)


def test_weights_like_the_rows_change_nothing(federation):
    plain, same = (
        trained_accuracy(Logistic(), federation, federation.test, FedAvg(rounds=2), weights=weights)
        for weights in (None, [10, 30, 20])
    )
    assert plain == same


def test_every_way_is_tried_and_bad_clients_weigh_nothing_once_they_are_left_out():
    import pandas as pd

    (cell,) = cells(smoke=True)
    records = compute(cell)
    assert [record["how"] for record in records] == list(WAYS)
    weight = {record["how"]: record.get("bad_weight") for record in records}
    assert (weight["all"], weight["weighted"], weight["selected"]) == (0.5, 0.0, 0.0)
    assert 0.3 < weight["1/distance"] < 0.5
    frame = pd.DataFrame([vars(cell) | record for record in records])
    assert "100 % of draws" in markdown(table(frame))
