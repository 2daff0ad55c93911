"""Records become tables; every experiment runs in small."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import SettingsError
from fedbary.notes import Note
from fedbary.valuation.rows import row_frame
from fedbary_lab.experiments import EXPERIMENTS, detection, find
from fedbary_lab.experiments.federations import Spoilt
from fedbary_lab.experiments.judged_rows import judged
from fedbary_lab.experiments.tables import mean_and_spread, pivots


def test_seeds_become_mean_and_spread_and_errors_are_shown():
    records = pd.DataFrame(
        {
            "data": ["a"] * 4,
            "noise": ["n"] * 4,
            "method": ["x", "x", "y", "y"],
            "auroc": [0.8, 0.9, np.nan, np.nan],
            "error": [None, None, "broke", "broke"],
        }
    )
    final = mean_and_spread(records, ["data", "noise", "method"], ["auroc"])
    assert final["auroc"][0] == pytest.approx(0.85)
    assert final["auroc_sd"][0] == pytest.approx(0.1 / np.sqrt(2))
    assert final[["seeds", "errors"]].to_numpy().tolist() == [[2, 0], [0, 2]]
    text = pivots(final, by="data", down=["noise"], across="method", titles={"auroc": "AUROC"}, digits=2)
    assert "| noise | x | y |" in text
    assert "| n | 0.85 ± 0.07 | error |" in text
    assert "- a, y: broke" in text


def test_every_experiment_is_found_and_says_what_it_shows():
    assert [find(experiment.name) for experiment in EXPERIMENTS] == list(EXPERIMENTS)
    assert all(callable(experiment.module.compute) for experiment in EXPERIMENTS)
    with pytest.raises(SettingsError, check=coded("research.no-such-experiment")):
        find("speed")


def test_a_judge_knows_the_perfect_and_the_useless_method():
    mask = np.arange(20) < 5
    client = Spoilt(fb.Table.from_arrays(np.zeros((20, 1)), np.ones(20, dtype=int)), np.zeros(20, dtype=int), mask)
    perfect = row_frame(np.arange(20), -mask.astype(float), flag=mask, suggested_label=["0"] * 20)
    assert judged(client, perfect, "labels 10 %", 0.1) == {
        "auroc": 1.0, "precision": 1.0, "fdr": 0.0, "recall": 1.0, "suggestions": 1.0
    }  # fmt: skip
    useless = row_frame(np.arange(20), np.zeros(20), flag=~mask)
    found = judged(client, useless, "labels 10 %", 0.1)
    assert (found["auroc"], found["fdr"], found["recall"]) == (0.5, 1.0, 0.0)
    why = Note("data.no-rows")
    assert judged(client, why, "labels 10 %", 0.1) == {"error": str(why)}


def test_the_ceiling_is_that_of_the_better_score_and_value_may_be_behind_it():
    mask = np.arange(20) < 5
    client = Spoilt(fb.Table.from_arrays(np.zeros((20, 1)), np.ones(20, dtype=int)), np.ones(20, dtype=int), mask)
    late = np.where(np.arange(20) == 19, 3.5, 5.0 - np.arange(20))  # a clean row among the five worst
    rows = row_frame(
        np.arange(20), -late, flag=np.arange(20) < 2, label_score=np.zeros(20), feature_score=-np.arange(20.0)
    )
    found = judged(client, rows, "features 1 σ", 0.1)
    assert (found["channel"], found["ceiling"], found["recall"]) == (1.0, 1.0, 0.4)
    assert found["behind"] == pytest.approx(1.0 - found["auroc"]) == pytest.approx(3 / 75)
    partly = judged(client, rows.assign(feature_score=np.where(np.arange(20) < 2, np.nan, 0.0)), "features 1 σ", 0.1)
    assert partly["unscored"] == 0.1
    assert not {"channel", "behind", "ceiling"} & set(partly)
    assert "unscored" not in judged(client, rows.assign(feature_score=np.nan), "features 1 σ", 0.1)


def test_what_misses_a_floor_of_detection_is_bold_and_listed():
    def record(method, auroc, recall, fdr, used=None):
        place = {"dataset": "digits", "used_rows": used, "noise": "labels 10 %", "alpha": "1", "method": method}
        scores = {"auroc": auroc, "channel": 1.0, "behind": 1.0 - auroc, "recall": recall, "ceiling": 1.0, "fdr": fdr}
        return place | scores

    few = [record(method, auroc, 0.9, 0.0, 300) for method, auroc in (("sketch", 0.9), ("logistic", 0.95))]
    kept, missed = {**record("sketch", 0.995, 0.8, 0.09), "alpha": "∞"}, record("sketch", 0.98, 0.5, 0.2)
    cleanlab = record(
        "cleanlab", 0.93, np.nan, np.nan
    )  # needs no reference, so it is beside methods with few rows, too
    final = detection.table(pd.DataFrame([*[kept] * 5, *[missed] * 5, cleanlab, *few]))
    assert final[["auroc_missed", "power_missed", "fdr_missed"]].to_numpy()[:2].tolist() == [[False] * 3, [True] * 3]
    text = detection.markdown(final)
    assert "- sketch, digits, labels 10 %, α = 1: behind 0.020" in text
    assert "- sketch, 300 reference rows, behind logistic: digits, labels 10 %, α = 1 (0.050)" in text
    assert "- sketch, 300 reference rows, behind cleanlab: digits, labels 10 %, α = 1 (0.030)" in text
    assert "- sketch, digits, labels 10 %, α = ∞" not in text
    assert not detection.table(pd.DataFrame([missed, missed]))["fdr_missed"].any()  # two draws say little of a mean


def test_a_part_of_an_experiment_may_be_looked_at_alone(tmp_path):
    events = []
    final = find("accuracy").run(tmp_path, smoke=True, only="sketch", progress=events.append)
    assert events
    assert set(final["protocol"]) == {"sketch"}
    with pytest.raises(SettingsError, check=coded("research.no-such-cell")):
        find("accuracy").run(tmp_path, smoke=True, only="no cell is called so")


def test_certified_intervals_hold_the_exact_distance(tmp_path):
    final = find("accuracy").run(tmp_path, smoke=True)
    certified = final[final["protocol"] != "triangle"]
    assert (certified["coverage"] == 1.0).all()
    assert final.loc[final["protocol"] == "triangle", "coverage"].isna().all()
