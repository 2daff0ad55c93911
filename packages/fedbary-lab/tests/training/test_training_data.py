"""Federations from tables and arrays: scaled by the reference, classes in one numbering, clear refusals."""

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, FedbaryError, SchemaError
from fedbary_lab.training.federation import Federation, Rows


def table(values, labels, **columns):
    return fb.Table({"x": np.array(values, dtype=float), **columns}, labels=labels)


def test_features_are_scaled_by_the_reference_and_classes_numbered_by_it():
    reference = table([0.0, 2.0, 0.0, 2.0], ["b", "a", "b", "a"])
    federation = Federation.from_tables({"ann": table([3.0, 1.0], ["b", "a"])}, reference)
    assert federation.classes == ("a", "b")
    assert federation.clients[0].features == pytest.approx(np.array([[2.0], [0.0]]))
    assert federation.clients[0].codes.tolist() == [1, 0]
    assert federation.test.features.mean() == pytest.approx(0.0)
    assert federation.notes == ()


def test_wide_features_are_not_projected():
    rng = np.random.default_rng(0)
    wide = fb.Table.from_arrays(rng.random((20, 300)), np.arange(20) % 2)
    assert Federation.from_tables({"ann": wide}, wide).width == 300


def test_a_client_may_lack_a_class():
    reference = table([0.0, 1.0, 2.0], ["a", "b", "c"])
    federation = Federation.from_tables({"ann": table([0.0, 1.0], ["c", "c"])}, reference)
    assert federation.clients[0].codes.tolist() == [2, 2]
    assert len(federation.classes) == 3


def test_rows_of_classes_that_the_reference_lacks_are_left_out_with_a_note():
    reference = table([0.0, 1.0], [1, 2])
    federation = Federation.from_tables({"ann": table([0.0, 5.0, 7.0], ["1", "9", "2"])}, reference)
    assert len(federation.clients[0]) == 2
    (note,) = federation.notes
    assert (note.code, note.facts["where"]) == ("research.rows-left-out", "ann")
    assert (note.facts["count"], note.facts["rows"], note.facts["classes"]) == (1, 3, ("9",))


def test_a_client_without_any_known_class_is_refused_by_name():
    with pytest.raises(DataError, check=coded("research.no-common-class")):
        Federation.from_tables({"ann": table([0.0], ["z"])}, table([0.0, 1.0], ["a", "b"]))


def test_regression_labels_are_refused():
    numbers = table([0.0, 1.0, 2.0], [0.5, 1.25, 7.75])
    with pytest.raises(DataError, check=coded("research.training-needs-classes")):
        Federation.from_tables({"ann": numbers}, numbers)
    with pytest.raises(SchemaError, check=coded("schema.label-holds-fractions")):
        Federation.from_tables({"ann": numbers}, table([0.0, 1.0], ["a", "b"]))


def test_missing_values_follow_the_space_and_errors_name_the_client():
    reference, holes = table([0.0, 2.0], ["a", "b"]), table([np.nan, 1.0], ["a", "b"])
    with pytest.raises(SchemaError, check=coded("schema.missing-values")):
        Federation.from_tables({"ann": holes}, reference, space=fb.Space(missing="refuse"))
    filled = Federation.from_tables({"ann": holes}, reference, space=fb.Space(metric="within"))
    assert filled.clients[0].features[0] == pytest.approx([0.0])


def test_a_reference_of_one_class_is_refused():
    with pytest.raises(DataError, check=coded("research.fewer-than-two-classes")):
        Federation.from_tables({"ann": table([0.0], ["a"])}, table([0.0, 1.0], ["a", "a"]))


ROWS = Rows([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("make", "code", "facts"),
    [
        (lambda: Rows([0.0, 1.0], [0, 1]), "features-shape", {"shape": "(2,)"}),
        (lambda: Rows([["a"]], [0]), "features-shape", {"dtype": "<U1"}),
        (lambda: Rows(np.zeros((0, 2)), np.zeros(0, dtype=int)), "features-shape", {"shape": "(0, 2)"}),
        (lambda: Rows([[0.0]], [0, 1]), "codes-shape", {"rows": 1}),
        (lambda: Rows([[0.0]], [0.5]), "codes-shape", {"dtype": "float64"}),
        (lambda: Rows([[np.nan]], [0]), "features-not-finite", {}),
        (lambda: Rows([[0.0]], [-1]), "negative-code", {"code": -1}),
        (lambda: Federation((), (), ROWS, ("a", "b")), "names-and-clients-differ", {"names": 0, "clients": 0}),
        (
            lambda: Federation(("a",), (ROWS, ROWS), ROWS, ("a", "b")),
            "names-and-clients-differ",
            {"names": 1, "clients": 2},
        ),
        (lambda: Federation(("a", "a"), (ROWS, ROWS), ROWS, ("a", "b")), "same-name", {}),
        (lambda: Federation(("a",), (ROWS,), ROWS, ("a",)), "classes-not-different", {}),
        (
            lambda: Federation(("a",), (Rows([[0.0]], [2]),), ROWS, ("a", "b")),
            "code-of-no-class",
            {"where": "a", "code": 2},
        ),
        (
            lambda: Federation(("a",), (Rows([[0.0, 1.0]], [0]),), ROWS, ("a", "b")),
            "other-width",
            {"where": "a", "width": 2},
        ),
        (
            lambda: Federation.from_arrays({"a": ([[0.0]], [0, 1])}, ([[0.0], [1.0]], [0, 1])),
            "features-and-labels-differ",
            {"where": "a"},
        ),
    ],
    ids=range(14),
)
def test_what_cannot_be_trained_on_is_refused(make, code, facts):
    with pytest.raises(FedbaryError, check=coded(f"research.{code}")) as refused:
        make()
    assert facts.items() <= refused.value.note.facts.items()
