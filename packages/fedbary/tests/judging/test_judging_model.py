"""What a client is sent to judge its rows by: it travels without loss, and nonsense is refused with a code."""

from dataclasses import replace

import numpy as np
import pytest

from codes import coded
from fedbary.errors import ProtocolError
from fedbary.judging.discriminant import Discriminant
from fedbary.judging.evidence import CELLS, SHARES, Evidence
from fedbary.judging.lines import Line
from fedbary.judging.model import JudgingModel, ReferenceModel, received
from fedbary.judging.scoring_fit import fit_scoring_model

WIDTH = 3


def discriminant(classes, width):
    rng = np.random.default_rng(0)
    return Discriminant(
        np.zeros(width), np.ones(width), np.full(classes, 9.0), rng.normal(size=(classes, width)), np.eye(width)
    )


def held(classes):
    return Evidence(np.zeros(len(SHARES)), 0.5, np.ones(CELLS), np.ones(CELLS), np.full(classes + 1, 0.1))


@pytest.fixture(scope="module")
def scoring():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    return fit_scoring_model(rng.normal(size=(60, WIDTH)) + 2.0 * codes[:, None], codes, ("a", "b"), seed=0).model


@pytest.fixture(params=["classes", "number", "cards alone"])
def model(request, scoring):
    if request.param == "cards alone":
        return JudgingModel(("a", "b"), discriminant(2, WIDTH))
    if request.param == "number":
        reference = ReferenceModel(Line(np.ones(WIDTH), 0.5, 0.1), np.zeros((1, WIDTH)), np.ones(WIDTH))
        return JudgingModel(("",), discriminant(1, WIDTH + 1), reference, np.full(6, 0.2), held(1))
    reference = ReferenceModel(scoring, np.zeros((2, WIDTH)), np.ones(WIDTH))
    return JudgingModel(("a", "b"), discriminant(2, WIDTH), reference, np.full(5, 0.2), held(2))


def test_it_travels_without_loss(model):
    arrays = model.to_arrays()
    assert all(array.dtype.kind in "fiu" for array in arrays.values())
    again = JudgingModel.from_arrays(arrays, width=WIDTH)
    assert (again.classes, again.candidates, again.features) == (model.classes, model.candidates, WIDTH)
    assert again.numeric == (model.classes == ("",))
    back = again.to_arrays()
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)


SPOILT = {
    "classes": [np.frombuffer(text, dtype=np.uint8) for text in (b"[]", b'["a", "a"]', b"{", b"7", b"\xff", b"[" * 9)],
    "others.centre": [np.zeros(1), np.zeros((2, 2)), np.array(["x"])],
    "others.scale": [np.zeros(WIDTH), np.full(WIDTH, -1.0)],
    "others.counts": [np.zeros(9), np.full(2, -1.0)],
    "others.means": [np.zeros((9, WIDTH)), np.full((2, WIDTH), np.nan)],
    "others.covariance": [np.zeros((WIDTH, WIDTH)), -np.eye(WIDTH), np.triu(np.ones((WIDTH, WIDTH)))],
}
OF_REFERENCE = {
    "reference.means": [np.zeros((9, WIDTH)), np.full((2, WIDTH), np.nan)],
    "reference.variances": [np.zeros(WIDTH + 1), np.full(WIDTH, np.nan)],
    "candidate_weights": [np.ones(3), np.zeros(5), np.full(5, np.nan), -np.ones(5)],
    "held.likelihood": [np.ones(len(SHARES)), np.zeros(2)],
    "held.labels": [np.full(CELLS, -1.0)],
    "held.seen": [np.array([2.0]), np.zeros(0)],
    "held.scatter": [np.zeros(2), np.full(3, np.inf), np.zeros((3, 1))],
}


@pytest.mark.parametrize(
    ("name", "array"),
    [(name, array) for name, spoilt in {**SPOILT, **OF_REFERENCE}.items() for array in (None, *spoilt)],
)
def test_each_wrong_array_is_refused(scoring, name, array):
    reference = ReferenceModel(scoring, np.zeros((2, WIDTH)), np.ones(WIDTH))
    arrays = JudgingModel(("a", "b"), discriminant(2, WIDTH), reference, np.full(5, 0.2), held(2)).to_arrays()
    if array is None:
        del arrays[name]
        if name in ("candidate_weights", "reference.means"):  # a model without them is one, too
            return
    else:
        arrays[name] = array
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        JudgingModel.from_arrays(arrays, width=WIDTH)


def test_rows_of_another_width_are_refused(model):
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        JudgingModel.from_arrays(model.to_arrays(), width=WIDTH + 1)


def test_a_scoring_model_of_classes_that_nobody_else_has_or_of_another_width_is_refused(scoring):
    reference = ReferenceModel(scoring, np.zeros((2, WIDTH)), np.ones(WIDTH))
    model = JudgingModel(("a", "c"), discriminant(2, WIDTH), reference)
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        JudgingModel.from_arrays(model.to_arrays(), width=WIDTH)
    arrays = replace(model, classes=("a", "b")).to_arrays()
    lost = {name: array for name, array in arrays.items() if not name.startswith("model.")}
    with pytest.raises(ProtocolError, check=coded("valuation.scoring-model-incoherent")):
        JudgingModel.from_arrays(lost, width=WIDTH)


def test_a_reference_without_its_line_is_refused():
    reference = ReferenceModel(Line(np.ones(WIDTH), 0.5, 0.1), np.zeros((1, WIDTH)), np.ones(WIDTH))
    arrays = JudgingModel(("",), discriminant(1, WIDTH + 1), reference).to_arrays()
    del arrays["line.coefficients"], arrays["line.numbers"]
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        JudgingModel.from_arrays(arrays, width=WIDTH)


def test_the_same_arrays_are_read_once_for_all_clients_of_a_process(scoring):
    arrays = scoring.to_arrays()
    first = received(arrays)
    assert received(dict(arrays)) is first
    assert received({name: array.copy() for name, array in arrays.items()}) is not first
