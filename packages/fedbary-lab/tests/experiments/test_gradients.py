"""The paper's rule is counted as the paper counts it, on rows that are the same whatever spoils them."""

import numpy as np
import pandas as pd
import pytest

from fedbary_lab.experiments.gradients import (
    DATASETS,
    DEFAULT,
    DISTANCES,
    LABELS,
    NO_CLASSES,
    NOISES,
    NORMAL,
    PUBLISHED,
    SHARES,
    SHUFFLED,
    Cell,
    cells,
    compute,
    facts,
    markdown,
    pictures,
    spoilt_clients,
    table,
)
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.sign_rule import signed


def small(noise, setting=PUBLISHED, gradient="eta"):
    return Cell("digits", noise, setting, gradient, 0, rows=60, reference_rows=60)


def test_counts_and_ratios_are_those_of_the_flags():
    mask = np.arange(10) < 4
    flag = np.isin(np.arange(10), [0, 1, 2, 9])
    found = signed(mask, pd.DataFrame({"value": np.where(flag, -1.0, 1.0), "flag": flag}))
    assert found == {
        "spoilt": 4, "flagged": 4, "found": 3, "recall": 0.75, "alarms": pytest.approx(1 / 6), "precision": 0.75,
        "success": 0.0, "auroc": pytest.approx((0.75 + 5 / 6) / 2),
    }  # fmt: skip
    right = signed(mask, pd.DataFrame({"value": -mask.astype(float), "flag": mask}))
    assert (right["success"], right["auroc"]) == (1.0, 1.0)
    nothing = signed(mask, pd.DataFrame({"value": np.zeros(10), "flag": np.zeros(10, dtype=bool)}))
    assert (nothing["flagged"], nothing["recall"], nothing["auroc"]) == (0, 0.0, 0.5)
    assert "precision" not in nothing


def test_clients_have_the_same_rows_whatever_spoils_them():
    kinds = {noise: spoilt_clients(small(noise)) for noise in NOISES}
    for share, client in kinds[NORMAL].items():
        for other in kinds.values():
            np.testing.assert_array_equal(other[share].truth, client.truth)
            assert other[share].mask.sum() == client.mask.sum()
        clean = client.table.columns["x"][~client.mask]
        assert clean.min() >= 0.0
        assert clean.max() == 1.0
    sizes = [client.mask.sum() for client in kinds[SHUFFLED].values()]
    assert sizes == [round(60 * share) for share in SHARES]


def test_noise_of_the_paper_is_all_that_is_flagged_where_it_is_in_many_rows():
    last = compute(small(NORMAL))[-1]
    assert (last["share"], last["spoilt"], last["flagged"], last["recall"]) == ("30 %", 18, 18, 1.0)


def test_without_classes_wrong_labels_change_nothing():
    found = compute(small(LABELS, NO_CLASSES))
    assert all(record["flagged"] > record["spoilt"] for record in found)
    assert all(abs(record["auroc"] - 0.5) < 0.35 for record in found)


def test_every_gradient_is_looked_at_and_wide_images_have_fewer_cells():
    chosen = cells(smoke=False)
    assert {cell.gradient for cell in chosen if cell.dataset == DATASETS[0] and cell.noise == SHUFFLED} == {*DISTANCES}
    assert {cell.dataset for cell in chosen if cell.setting == DEFAULT} == {*DATASETS}
    assert len([cell for cell in chosen if cell.dataset == DATASETS[-1]]) < len(chosen) / 4
    assert len(chosen) == len(set(chosen))


def test_the_papers_numbers_stand_beside_ours_where_it_prints_them():
    kept = [(NORMAL, "eta"), (NORMAL, "gamma"), (LABELS, "access")]
    common = {"dataset": "mnist", "setting": PUBLISHED, "seed": 0, "spoilt": 50, "flagged": 55, "found": 40}
    ratios = {"recall": 0.8, "alarms": 0.1, "precision": 0.7, "success": 0.0, "auroc": 0.9}
    records = [
        {"noise": noise, "gradient": gradient, "share": share, **common, **ratios}
        for noise, gradient in kept
        for share in ("5 %", "10 %")
    ]
    final = table(pd.DataFrame(records))
    assert final["paper"].dropna().tolist() == [SAYS["found_by_client"]] * 2 + [SAYS["found_labels_with_access"]] * 2
    said = facts(final)
    assert said["flagged_published_eta_normal_mnist_10"] == 55
    assert said["recall_client_normal"] == said["least_recall_access_labels"] == pytest.approx(0.8)
    assert "| N(0, 1) | ∂W(P, η_Q) | 1.00 | published | mnist | 0.80 / 0.80 | 0.10 / 0.10 |" in markdown(final)
    assert [picture.name for picture in pictures(final)] == [
        "flagged-normal", "recall-normal", "flagged-labels", "recall-labels"
    ]  # fmt: skip
    counts = pictures(final)[0].table
    assert counts.loc[counts["gradient"] == "spoilt rows", "flagged"].tolist() == [50, 50]
