"""Systematic label errors: federations with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.judging.label_evidence import LabelEvidence, label_evidence
from fedbary.judging.systematic import systematic

K, D = 4, 12
M = 5.0 * np.eye(K, D)
BEHIND = np.full(K, 400.0)


def rows(rng, truth, means=M, shift=0.0, class_shift=0.0):
    centres = means + class_shift * rng.normal(size=means.shape) + shift * rng.normal(size=means.shape[1])
    return centres[truth] + rng.normal(size=(len(truth), means.shape[1]))


def client(rng, relabel=lambda rng, y: y, n=300, shares=None, behind=BEHIND, means=M, **effects):
    truth = rng.choice(len(means), n, p=shares)
    return label_evidence(rows(rng, truth, means, **effects), relabel(rng, truth), means, behind)


def federation(last, seed=0, clients=5, **settings_):
    rng = np.random.default_rng(seed)
    evidences = {f"clean {j}": client(rng, **settings_) for j in range(clients - 1)}
    return systematic({**evidences, "last": last(rng)})


def one_way(rng, y):
    positives = np.flatnonzero(y == 1)
    out = y.copy()
    out[rng.choice(positives, len(positives) // 2, replace=False)] = 0
    return out


@pytest.mark.parametrize("shift", [0.0, 0.7])
@pytest.mark.parametrize("class_shift", [0.0, 0.4])
def test_clean_clients_have_no_finding_wherever_they_are(shift, class_shift):
    effects = dict(shift=shift, class_shift=class_shift)
    for seed in range(3):
        assert not any(federation(lambda rng: client(rng, **effects), seed, **effects).values())


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_one_label_for_every_row_says_what_the_rows_look_like(shift):
    shares = [0.27, 0.33, 0.2, 0.2]
    found = federation(lambda rng: client(rng, lambda _, y: 0 * y, shares=shares, shift=shift), shift=shift)
    (finding,) = [f for f in found.pop("last") if f.kind == "label-shares"]
    assert (finding.found, finding.stated) == ((0,), 1.0)
    assert finding.looks == pytest.approx(0.27, abs=0.08)
    assert not any(found.values())


def test_a_client_of_one_class_is_no_error():
    for shift in (0.0, 0.7):
        last = federation(lambda rng, s=shift: client(rng, shares=[1.0, 0, 0, 0], shift=s), shift=shift)["last"]
        assert last == ()


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(K)), st.sampled_from([0.0, 0.5]))
def test_any_other_coding_is_found_with_the_mapping_that_mends_it(coding, shift):
    found = federation(lambda rng: client(rng, lambda _, y: np.array(coding)[y], shift=shift), shift=shift)["last"]
    moved = [c for c in range(K) if coding.index(c) != c]
    if moved:
        mapping = ("label-coding", tuple(moved), tuple(coding.index(c) for c in moved))
        assert [(f.kind, f.found, f.meant) for f in found] == [mapping]
    else:
        assert found == ()


def test_half_of_a_class_recorded_as_another_is_seen_from_both_sides():
    rng = np.random.default_rng(1)
    evidence = client(rng, one_way, n=400)
    assert 1 - evidence.looks[0, 0] == pytest.approx(1 / 3, abs=0.06)
    (finding,) = federation(lambda rng: client(rng, one_way, n=400), n=400)["last"]
    assert (finding.kind, finding.found, finding.meant) == ("label-class", (0,), (1,))
    assert finding.looks == pytest.approx(1 / 3, abs=0.1)


def test_a_rare_class_counts_whatever_its_share_of_the_table():
    shares = np.array([0.985, 0.015])

    def wrong(rng, y):
        out = 0 * y
        out[rng.choice(np.flatnonzero(y == 0), 25, replace=False)] = 1
        return out

    settings_ = dict(n=2000, shares=shares, behind=np.array([8000.0, 120.0]), means=M[:2])
    found = federation(lambda rng: client(rng, wrong, **settings_), **settings_)
    assert [(f.kind, f.found) for f in found.pop("last")] == [("label-class", (1,))]
    assert not any(found.values())


def test_a_class_nobody_else_has_is_no_error_unless_it_looks_like_one_they_have():
    behind = np.array([400.0, 400.0, 400.0, 0.0])
    three = [1 / 3, 1 / 3, 1 / 3, 0.0]

    def species(rng):
        return client(rng, behind=behind)

    def synonym(rng):
        return client(rng, lambda _, y: np.where(y == 2, 3, y), shares=three, behind=behind)

    def second_spelling(rng):
        return client(
            rng, lambda r, y: np.where((y == 2) & (r.random(len(y)) < 0.5), 3, y), shares=three, behind=behind
        )

    clean = dict(shares=three, behind=behind)
    assert federation(species, **clean)["last"] == ()
    for other_name in (synonym, second_spelling):
        (finding,) = federation(other_name, **clean)["last"]
        assert (finding.kind, finding.found, finding.meant) == ("label-coding", (3,), (2,))


def test_counting_from_one_is_found_though_its_last_label_is_unknown():
    means, behind = M[:3], np.array([400.0, 400.0, 0.0])
    settings_ = dict(means=means, behind=behind, shares=[0.5, 0.5, 0.0])
    (finding,) = federation(lambda rng: client(rng, lambda _, y: y + 1, **settings_), **settings_)["last"]
    assert (finding.kind, finding.found, finding.meant) == ("label-coding", (1, 2), (0, 1))


def test_nobody_is_judged_by_a_class_of_which_the_others_have_too_little():
    rng = np.random.default_rng(3)
    without = {f"{j}": client(rng, shares=[0.5, 0.5, 0, 0]) for j in range(3)}
    swapped = client(rng, lambda _, y: np.array([0, 1, 3, 2])[y])
    one = client(rng)
    assert systematic({**without, "one": one, "swapped": swapped})["swapped"] == ()


def test_class_means_that_the_clients_disagree_about_say_nothing_about_anybody():
    rng = np.random.default_rng(4)
    shuffled = {f"{j}": client(rng, lambda r, y: r.permutation(y)) for j in range(5)}
    assert not any(systematic(shuffled).values())


def test_evidence_of_many_rows_is_that_of_some_and_weighs_classes_by_all():
    rng = np.random.default_rng(5)
    evidence = client(rng, lambda _, y: 0 * y, n=30_000, shares=[0.7, 0.1, 0.1, 0.1])
    assert evidence.judged.sum() <= 4_000
    assert evidence.counts.sum() == 30_000
    assert evidence.fitted == pytest.approx([0.7, 0.1, 0.1, 0.1], abs=0.03)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_hardly_any_rows_are_evidence_of_nothing(n):
    rng = np.random.default_rng(6)
    few = client(rng, n=n) if n else label_evidence(np.zeros((0, D)), np.zeros(0, int), M, BEHIND)
    assert isinstance(few, LabelEvidence)
    found = federation(lambda _: few)
    assert not any(found.values())


def test_labels_of_fewer_than_five_rows_do_not_leave_their_client():
    rng = np.random.default_rng(9)
    truth = np.repeat([0, 1], [100, 4])
    evidence = label_evidence(rows(rng, truth), np.where(truth == 1, 3, truth), M, BEHIND)
    assert evidence.looks[3].tolist() == [0, 0, 0, 1]
    assert evidence.gain[3] == 0


def test_one_odd_row_changes_no_finding():
    rng = np.random.default_rng(7)
    truth = rng.integers(0, K, 300)
    Z = rows(rng, truth)
    Z[0] = 1e4
    evidence = label_evidence(Z, truth, M, BEHIND)
    assert np.diag(evidence.looks).min() > 0.95
