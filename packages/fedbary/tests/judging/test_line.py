"""The line of a label that is a number, where the truth is known."""

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import ProtocolError
from fedbary.judging.lines import Line, fit_line


def sample(rows=200, noise=0.1):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(rows, 3))
    return values, values @ [1.0, -2.0, 0.0] + 5.0 + noise * rng.normal(size=rows)


def test_slope_offset_and_spread_are_found():
    found = fit_line(*sample(), seed=0)
    np.testing.assert_allclose(found.line.coefficients, [1.0, -2.0, 0.0], atol=0.05)
    assert found.line.offset == pytest.approx(5.0, abs=0.05)
    assert found.line.spread == pytest.approx(0.1, rel=0.2)


def test_more_columns_than_rows_are_no_trouble_and_few_rows_get_none():
    rng = np.random.default_rng(0)
    assert fit_line(rng.normal(size=(30, 80)), rng.normal(size=30), seed=0).line.spread > 0.5
    assert fit_line(rng.normal(size=(5, 2)), rng.normal(size=5), seed=0) is None
    assert fit_line(np.zeros((20, 2)), np.ones(20), seed=0).line.spread > 0


def test_a_message_gives_the_same_line_and_refuses_what_is_none():
    line = fit_line(*sample(), seed=0).line
    again = Line.from_arrays(line.to_arrays(), 3)
    np.testing.assert_array_equal(again.coefficients, line.coefficients)
    for spoilt in (
        {"line.coefficients": np.ones(2)},
        {"line.numbers": np.array([0.0, np.nan])},
        {"line.numbers": np.array([0.0, 0.0])},
        {"line.numbers": np.ones(3)},
    ):
        with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
            Line.from_arrays({**line.to_arrays(), **spoilt}, 3)
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        Line.from_arrays({}, 3)


def test_exchanged_numbers_are_found_and_clean_clients_are_left_alone():
    values, labels = sample(rows=700, noise=0.3)
    exchanged = np.arange(60) < 15
    wrong = labels[400:460].copy()
    wrong[exchanged] += 4.0
    clients = {"clean": (values[300:400], labels[300:400]), "wrong": (values[400:460], wrong)}
    result = fb.value(clients, (values[:300], labels[:300]), protocol="sketch", seed=0)
    frame = result.clients.set_index("client")
    assert frame.loc["clean", "wrong_labels"] < 0.05
    # Labels that are all too high move the client's own mean: the share seems larger than the 0.25 it is.
    assert frame.loc["wrong", "wrong_labels_low"] <= 0.3
    assert frame.loc["wrong", "wrong_labels_high"] >= 0.25
    assert frame.loc["wrong", "wrong_labels_low"] > 0.1
    assert result.rows("wrong")["flag"].to_numpy(dtype=bool)[exchanged].mean() > 0.9
