"""Flags become rows to train on, and what is said about them is what a reader would count."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary_lab.experiments import boost, boost_clients
from fedbary_lab.experiments.boost import EVERYWHERE, IN_ONE, PAPER, WAYS, Cell, cells, drawn, facts, table
from fedbary_lab.experiments.boost_rows import Draw, Flagged, judged, training_rows
from fedbary_lab.experiments.federations import Spoilt
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.models import Logistic


@pytest.fixture
def draw():
    """Two clients of three rows; the first row of each has a wrong label."""
    truth, mask = np.array(["a", "b", "b"]), np.array([True, False, False])
    clean = fb.Table.from_arrays([[0.0], [1.0], [2.0]], truth)
    wrong = Spoilt(clean.replace(labels=np.array(["b", "b", "b"])), truth, mask)
    return Draw(clean, clean, {"ann": wrong, "bob": wrong}, {"ann": clean, "bob": clean}, 0)


def flagged(flags, *, suspects=False, **columns):
    rows = {"row": range(3), "flag": flags, "suspect": False, "reason": "label", "suggested_label": "a"} | columns
    return Flagged({name: pd.DataFrame(rows) for name in ("ann", "bob")}, suspects, seconds=1.0)


def test_dropping_and_relabelling_leave_what_they_should(draw):
    flags = flagged([True, False, False])
    assert [len(table) for table in training_rows(draw, flags, "drop").values()] == [2, 2]
    assert training_rows(draw, flags, "relabel")["ann"].labels.tolist() == ["a", "b", "b"]
    assert training_rows(draw, flagged([True] * 3), "drop") == {}


def test_flags_are_counted_over_all_clients(draw):
    right = judged(draw.spoilt, flagged([True, True, False]), "relabel")
    assert [right[name] for name in ("flagged", "found", "recall", "precision", "mended")] == [4, 2, 1.0, 0.5, 0.5]
    nothing = judged(draw.spoilt, flagged([False] * 3), "drop")
    assert (nothing["flagged"], nothing["recall"]) == (0, 0.0)
    assert "precision" not in nothing


def test_suspects_count_where_nothing_can_be_flagged(draw):
    cards = flagged([pd.NA] * 3, suspects=True, suspect=[True, False, False])
    assert judged(draw.spoilt, cards, "drop")["recall"] == 1.0
    assert [len(table) for table in training_rows(draw, cards, "drop").values()] == [2, 2]


def test_a_model_learns_from_the_rows_that_are_left():
    X, right = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array(["a", "a", "b", "b"])
    clean = fb.Table.from_arrays(X, right)
    flipped = clean.replace(labels=right[::-1].copy())
    draw = Draw(clean, clean, {}, {}, 0)
    training = FedAvg(rounds=20)
    assert draw.accuracy(Logistic(), training, {"ann": clean}) == 1.0
    assert draw.accuracy(Logistic(), training, {"ann": flipped}) == 0.0


@pytest.mark.parametrize(("spread", "shares"), [(EVERYWHERE, [0.1] * 4), (IN_ONE, [0.4, 0, 0, 0])])
def test_spoilt_rows_are_spread_as_asked(spread, shares):
    draw = drawn(Cell(PAPER, "digits", "labels", spread, 0, noisy=40, clients=4, rows=100, server_rows=100))
    assert [client.mask.mean() for client in draw.spoilt.values()] == pytest.approx(shares)
    for name, client in draw.spoilt.items():
        np.testing.assert_array_equal(client.table.labels != draw.clean[name].labels, client.mask)


def test_the_papers_setting_has_the_papers_noisy_rows():
    noisy = {(cell.dataset, cell.noisy) for cell in cells(smoke=False) if cell.setting == PAPER}
    cifar, fashion = SAYS["boost_cifar10_noisy"], SAYS["boost_fashion_noisy"]
    assert noisy == {("cifar10-images", cifar), ("cifar10-embeddings", cifar), ("fashion-mnist", fashion)}


def test_gains_are_over_training_on_all_rows_and_facts_name_them():
    cell = cells(smoke=True)[1]
    records = boost.compute(cell)
    assert [record["how"] for record in records[:7]] == ["none", *WAYS, "oracle", "clean"]
    final = table(pd.DataFrame([vars(cell) | record for record in records]))
    known, reached = facts(final), final.set_index(["model", "how"])["accuracy"]
    assert known["digits_labels_cnn_none_accuracy"] == reached["cnn", "none"]
    assert known["digits_labels_cnn_drop_gain"] == pytest.approx(reached["cnn", "drop"] - reached["cnn", "none"])
    assert known["digits_labels_drop_recall"] == final.loc[final["how"] == "drop", "recall"].iloc[0]
    assert "0.67" in boost.markdown(final)  # the paper's number stands beside ours


def test_what_failed_is_named_and_has_no_facts():
    broken = table(pd.DataFrame([vars(cells(smoke=True)[0]) | {"error": "broke"}]))
    assert "broke" in boost.markdown(broken)
    assert set(facts(broken)) == {"paper_gain_cifar10", "paper_gain_fashion"}


def test_the_page_quotes_only_facts_that_a_full_table_has():
    ways = ["none", *WAYS, "oracle", "clean"]
    numbers = dict.fromkeys([*boost.METRICS], 0.5)
    records = [
        vars(cell) | numbers | {"model": model, "how": way}
        for cell in cells(smoke=False)
        for model in getattr(cell, "models", ["cnn"])
        for way in (ways if isinstance(cell, Cell) else boost_clients.WAYS)
    ]
    known = facts(table(pd.DataFrame(records)))
    sources = Path(__file__).parents[4] / "docs" / "sources"
    for name in ("acting-boost.md", "acting-clients.md"):
        text = (sources / name).read_text(encoding="utf-8")
        quoted = set(re.findall(r"\{\{ boost\.(\w+)", text))
        assert quoted
        assert quoted <= {*known, "seeds"}
