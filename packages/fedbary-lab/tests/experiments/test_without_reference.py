"""Tables of federations without a reference: floors and one picture."""

import numpy as np
import pandas as pd
import pytest

from fedbary_lab.experiments import cards, detection, ranking, spoilt_federations, verdict, wrong_label_shares


def federation(dataset, noise, method, auroc, clients=5, alpha="1"):
    place = {"dataset": dataset, "noise": noise, "clients": clients, "alpha": alpha, "method": method}
    return place | {"auroc": auroc}


@pytest.mark.parametrize(
    ("dataset", "noise", "auroc", "missed"),
    [
        ("fashion-mnist", "labels 10 %", 0.981, False),  # 0.985 was measured before
        ("fashion-mnist", "labels 10 %", 0.979, True),
        ("dry-bean", "features 1 σ", 0.5, False),  # nothing was measured before
    ],
)
def test_a_score_below_its_floor_is_bold_and_listed(dataset, noise, auroc, missed):
    records = [federation(dataset, noise, "cards, score", auroc), federation(dataset, noise, "cards, value", 0.1)]
    final = detection.table(pd.DataFrame(records))
    assert final["auroc_missed"].sum() == missed
    text = detection.markdown(final)
    assert (f"**{auroc:.3f}**" in text) == missed
    assert (f"- {dataset}, {noise}, 5 clients, α = 1: {auroc:.3f}" in text) == missed


def test_rows_without_a_score_stand_in_the_middle():
    mask = np.array([True, False, True, False])
    assert spoilt_federations.auroc(mask, pd.Series([3.0, 1.0, np.nan, 2.0])) == pytest.approx(0.875)


def test_floors_of_shares_hold_for_labels_replaced_at_random_only():
    def share(noise, spearman, off, alpha="1"):
        place = {"dataset": "dry-bean", "kind": "k", "noise": noise, "alpha": alpha, "method": "cards, wrong_labels"}
        return place | {"spearman": spearman, "off": off, "random_last": 1.0, "covered": 0.9, "said": "include: so"}

    random, alike = wrong_label_shares.KINDS["labels"], wrong_label_shares.KINDS["confusions"]
    final = ranking.table(
        pd.DataFrame([share(random, 0.96, 0.06), share(random, 0.98, 0.06, "0.1"), share(alike, 0.5, 0.2)])
    )
    ours = final[final["method"] == "cards, wrong_labels"]
    assert ours[["spearman_missed", "off_missed", "random_last_missed"]].to_numpy().tolist() == [
        [True, True, False],
        [False] * 3,
        [False] * 3,
    ]
    text = ranking.markdown(final)
    assert "**0.960**" in text
    assert f"| dry-bean | {alike} | include: so |" in text


def test_a_verdict_by_cards_has_the_floors_of_300_reference_rows():
    def record(fault, seen, reference_rows=0):
        place = {"dataset": "digits", "reference_rows": reference_rows, "alpha": "∞", "fault": fault}
        return place | {"seen": seen, "wrong_labels_off": np.nan}

    final = verdict.table(pd.DataFrame([record("column × 1000", False), record("labels 10 %", False)]))
    assert final["seen_missed"].tolist() == [True, False]
    text = verdict.markdown(final)
    assert "| no reference | bad client seen, at least 0.95 | 1 | 0.000 | 0.000 | 1 |" in text
    assert "- digits, no reference rows, α = ∞, column × 1000: seen 0.00" in text
    sizes = {cell.dataset for cell in verdict.cells(smoke=False) if cell.without}
    assert sizes == {"digits", "mnist", "fashion-mnist", "cifar10-embeddings", "dry-bean"}  # 569 rows are too few


def test_cards_are_drawn_against_clients_and_references_as_level_lines():
    records = [
        {"dataset": "digits", "alpha": "1", "judge": judge, "label_score": score, "value": score}
        for judge, score in (("5 cards", 0.9), ("10 cards", 0.97), ("300 reference rows", 0.95))
    ]
    final = cards.table(pd.DataFrame(records))
    drawn = cards.picture(final).table.groupby("judge", sort=False)["auroc"].agg(list).to_dict()
    assert drawn == {"cards": [0.9, 0.97], "300 reference rows": [0.95, 0.95]}
    text = cards.markdown(final)
    assert "| 5 cards | 0 of 1 |" in text
    assert "| 10 cards | 1 of 1 |" in text
