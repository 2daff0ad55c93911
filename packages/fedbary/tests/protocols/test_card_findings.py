"""Findings in cards: the median of the others, and what a share of missing cells is compared with."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.protocols.cards.findings import medians_of_others


@pytest.mark.parametrize("seed", range(8))
def test_the_median_of_the_others_is_that_of_the_array_without_oneself(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (rng.integers(2, 9), 4)).astype(float)
    points[rng.random(points.shape) < 0.2] = np.nan
    points[:2] = [[1.0] * 4, [2.0] * 4]
    points[2:, 0] = np.nan
    found = medians_of_others(points)
    for place in range(len(points)):
        np.testing.assert_array_equal(found[place], np.nanmedian(np.delete(points, place, axis=0), axis=0))


def test_nobody_else_has_no_median():
    assert np.isnan(medians_of_others(np.array([[1.0], [np.nan]]))).tolist() == [[True], [False]]


@pytest.mark.parametrize(("clean", "code"), [(None, "more-missing"), (200, "much-missing")])
def test_missing_cells_are_compared_with_the_reference_or_with_the_median_client(clean, code):
    rng = np.random.default_rng(0)

    def made(rows, missing):
        codes = rng.integers(0, 2, rows)
        points = rng.standard_normal((rows, 4)) + 3.0 * codes[:, None]
        points[rng.random(points.shape) < missing] = np.nan
        return fb.Table({name: points[:, place] for place, name in enumerate("abcd")}, codes)

    clients = {f"c{number}": made(200, 0.05) for number in range(3)} | {"holes": made(200, 0.4)}
    reference = None if clean is None else made(clean, 0.0)
    result = fb.value(clients, reference, protocol="cards", seed=0)
    reasons = {opinion.client: opinion.reasons for opinion in result.verdict()}["holes"]
    note = next(note for note in reasons if note.code == f"verdict.{code}")
    assert note.facts["usual"] == pytest.approx(0.0 if clean else 0.05, abs=0.02 if clean is None else 0.0)


def test_names_that_one_client_writes_in_its_own_way_are_found():
    rng = np.random.default_rng(1)

    def made(sexes, classes):
        codes = rng.integers(0, 2, 80)
        columns = {"size": rng.normal(size=80) + 3.0 * codes, "sex": np.array(sexes)[rng.integers(0, 2, 80)]}
        return fb.Table(columns, np.array(classes)[codes])

    usual = {name: made(["female", "male"], ["benign", "malignant"]) for name in ("north", "south")}
    result = fb.value(usual | {"west": made(["Female", "Male"], ["benign", "malignant"])}, seed=0)
    (note,) = [note for note in result.outcomes["west"].notes if note.code == "protocols.card-level-coding"]
    assert (note.facts["column"], note.facts["meant"]) == ("sex", ("female", "male"))
    assert {opinion.client: opinion.advice.name for opinion in result.verdict()}["west"] == "LOOK"
    assert not result.outcomes["north"].notes
    result = fb.value(usual | {"west": made(["female", "male"], ["0", "1"])}, seed=0)
    (note,) = result.outcomes["west"].notes
    assert (note.code, note.facts["classes"]) == ("schema.unknown-classes", ("0", "1"))
