"""Records become tables; every experiment runs in small."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import SettingsError
from fedbary.notes import Note
from fedbary.research.experiments import EXPERIMENTS, detection, find
from fedbary.research.experiments.tables import mean_and_spread, pivots


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
    from fedbary.research.experiments.federations import Spoilt
    from fedbary.valuation.row_values import row_frame

    mask = np.arange(20) < 5
    client = Spoilt(fb.Table.from_arrays(np.zeros((20, 1)), np.ones(20, dtype=int)), np.zeros(20, dtype=int), mask)
    perfect = row_frame(np.arange(20), -mask.astype(float), flag=mask, suggested_label=["0"] * 20)
    assert detection._judged(client, perfect, "labels 10 %") == {
        "auroc": 1.0, "precision": 1.0, "fdr": 0.0, "recall": 1.0, "suggestions": 1.0
    }  # fmt: skip
    useless = row_frame(np.arange(20), np.zeros(20), flag=~mask)
    judged = detection._judged(client, useless, "labels 10 %")
    assert (judged["auroc"], judged["fdr"], judged["recall"]) == (0.5, 1.0, 0.0)
    why = Note("data.no-rows")
    assert detection._judged(client, why, "labels 10 %") == {"error": str(why)}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "detection",
            "verdict",
            "accuracy",
            "ranking",
            "five-cases",
            "timing",
            "boost",
            "point-removal",
            "duplication",
        ),
        *("privacy", "empirical-epsilon"),
    ],
)
def test_smoke_runs_complete_and_resume(name, tmp_path):
    events = []
    first = find(name).run(tmp_path, smoke=True, progress=events.append)
    errors = {done.cell: done.error for done in events if done.error}
    assert all("cleanlab" in cell for cell in errors), errors
    assert (tmp_path / f"{name}-smoke" / "table.md").read_text().startswith("# ")
    events.clear()
    second = find(name).run(tmp_path, smoke=True, progress=events.append)
    assert [done.cell for done in events if done.seconds] == list(errors)
    pd.testing.assert_frame_equal(first, second)


def test_certified_intervals_hold_the_exact_distance(tmp_path):
    final = find("accuracy").run(tmp_path, smoke=True)
    certified = final[final["protocol"] != "triangle"]
    assert (certified["coverage"] == 1.0).all()
    assert final.loc[final["protocol"] == "triangle", "coverage"].isna().all()
