"""The paper's setting of `detection`: what is found by inspecting rows, and the positives beside the noisy ones."""

import numpy as np
import pandas as pd
import pytest

from fedbary_lab.experiments import detection, paper_detection
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.paper_detection import (
    BY_SIGN,
    CURVE,
    METHODS,
    PUBLISHED,
    PaperCell,
    among_peers,
    cells,
    compute,
    drawn,
    found_by_inspection,
)


def small(method, noise="labels"):
    return PaperCell("digits", noise, "15 %", method, 0, 60, 60)


def record(method, noise="features N(0, 1)", share="5 %", **found):
    common = dict.fromkeys(CURVE, 0.5) | {"dataset": "digits", "seed": 0, "auroc": 0.9}
    return {"noise": noise, "share": share, "method": method, **common, **found}


def positives(spoilt, flagged, **found):
    return {"spoilt": spoilt, "flagged": flagged, "recall": 1.0, "alarms": 0.0, "precision": 1.0, **found}


def test_who_knows_the_rows_finds_them_at_once_and_who_knows_nothing_by_luck():
    mask = np.arange(200) % 10 == 0
    knows = found_by_inspection(-mask.astype(float), mask, seed=0)
    assert (knows["found_5"], knows["found_10"], knows["found_100"]) == (0.5, 1.0, 1.0)
    errs = found_by_inspection(mask.astype(float), mask, seed=0)
    assert (errs["found_90"], errs["found_95"], errs["found_100"]) == (0.0, 0.5, 1.0)
    luck = np.mean([found_by_inspection(np.zeros(200), mask, seed=seed)["found_50"] for seed in range(30)])
    assert luck == pytest.approx(0.5, abs=0.1)


def test_every_method_is_drawn_on_the_same_rows_and_the_slow_ones_less_often():
    chosen = cells(smoke=False)
    seeds = {method: {cell.seed for cell in chosen if cell.method == method} for method in METHODS}
    assert all(seeds["LOO"] < seeds[method] for method in METHODS if not method.startswith("LOO"))
    assert {cell.share for cell in chosen} == {"5 %", "15 %", "30 %"}
    assert {*BY_SIGN} < {*METHODS}


def test_gradients_are_judged_by_their_sign_and_others_are_not():
    assert compute(small(PUBLISHED))[0]["spoilt"] == 9
    assert "flagged" not in compute(small("KNN-Shapley"))[0]
    assert compute(small("exact dual")) == []


def test_no_two_parties_share_a_row():
    cell = small("cards")
    parties = among_peers(*drawn(cell), cell)
    images = [image.tobytes() for table in parties.values() for image in table.columns["x"]]
    assert len(parties) == 5
    assert len(set(images)) == len(images) == 300


def test_the_papers_success_stands_beside_ours_and_its_part_beside_the_others():
    records = [
        record(PUBLISHED, **positives(25, 40, success=0.0, precision=0.6)),
        record(PUBLISHED, share="15 %", **positives(75, 75, success=1.0)),
        record("KNN-Shapley"),
        record("KNN-Shapley", noise="labels"),
    ]
    final = detection.table(pd.DataFrame(records))
    assert final["paper"].dropna().tolist() == [SAYS["success_features"]] * 2
    text = detection.markdown(final)
    assert "| features N(0, 1) | 25 | paper η, published | 40 | 1.00 | 0.60 | 0.00 | 1.00 |" in text
    assert "## Floors" not in text
    said = detection.facts(final)
    assert said["paper_success_features_paper_eta_published"] == 0.5
    assert said["paper_positives_by_noisy_features_paper_eta_published"] == pytest.approx((40 / 25 + 1) / 2)
    assert said["paper_found_50_labels_5_knn_shapley"] == 0.5
    names = [picture.name for picture in detection.pictures(final)]
    assert names == ["inspected-features-n-0-1", "inspected-labels", "positives"]


def test_the_best_possible_curve_is_full_when_as_many_are_inspected_as_are_spoilt():
    picture = paper_detection.pictures(paper_detection.table(pd.DataFrame([record("LAVA", **positives(25, 30))])))[0]
    best = picture.table[picture.table["method"] == "best possible"].set_index("inspected")["found"]
    assert (best == 1.0).all()
    assert len(best) == len(CURVE)
