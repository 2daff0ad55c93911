"""Results: shares, frames, storage, and calibrated gradients in all variants."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, PrivacyError, SettingsError
from fedbary.notes import Note
from fedbary.valuation.clients import CLIENT_COLUMNS, CLIENT_FACTS, client_frame, share_bounds, shares
from fedbary.valuation.result import with_rows
from fedbary.valuation.rows import ROW_COLUMNS, calibrated_gradient

distances = st.lists(st.floats(0.01, 100), min_size=1, max_size=8).map(np.array)


@given(distances)
def test_shares_sum_to_one_and_a_smaller_distance_has_a_larger_share(d):
    found = shares(d)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_array_equal(found[np.argsort(d)], np.sort(found)[::-1])


@given(distances, st.data())
def test_share_bounds_hold_for_every_distance_in_the_intervals(d, data):
    low, high = d * 0.7, d * 1.3
    inside = np.array([data.draw(st.floats(a, b)) for a, b in zip(low, high, strict=True)])
    least, most = share_bounds(low, high)
    found = shares(inside)
    assert (least <= found + 1e-12).all()
    assert (found <= most + 1e-12).all()


def test_a_copy_of_the_target_has_a_finite_share():
    np.testing.assert_allclose(shares(np.array([0.0, 1.0, np.nan])), [1.0, 0.0, np.nan], atol=1e-9)


@given(distances, st.floats(0.1, 100))
def test_who_claims_to_be_at_the_target_does_not_take_all(d, spread):
    found = shares(np.append(d, 0.0), spread=spread)
    farthest = d.max()
    assert found[-1] <= (1 + farthest / (0.1 * spread)) * found[:-1].min() * (1 + 1e-9)
    assert shares(np.array([0.0] + [1.0] * 10), spread=1.0)[0] == pytest.approx(11 / 21)


def test_equal_clients_have_equal_shares_whatever_the_spread():
    np.testing.assert_allclose(shares(np.full(4, 3.0), spread=7.0), 0.25)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=10).map(np.array), st.floats(-3, 3))
def test_the_calibrated_gradient_is_equation_10_and_ignores_constants(f, constant):
    expected = [f[i] - np.delete(f, i).mean() for i in range(len(f))]
    np.testing.assert_allclose(calibrated_gradient(f + constant), expected, atol=1e-9)


def test_how_to_read_a_number_stands_in_the_docs_as_in_the_list():
    page = (Path(__file__).parents[4] / "docs" / "reports.md").read_text(encoding="utf-8")
    for fact in CLIENT_FACTS:
        assert not fact.explained or f"| {fact.title} | {fact.explained} |" in page


def test_the_frame_has_the_columns_of_the_list():
    assert tuple(client_frame([{"client": "a", "outcome": fb.Outcome()}], spread=1.0).columns) == CLIENT_COLUMNS == (
        "client", "rows", "quality", "quality_low", "quality_high", "wrong_labels", "wrong_labels_low",
        "wrong_labels_high", "odd_features", "odd_features_low", "odd_features_high", "blur", "shift", "missing",
        "worth", "worth_error", "share", "share_low", "share_high", "distance", "low", "high", "excess", "closeness",
        "flagged", "status", "notes",
    )  # fmt: skip


@pytest.fixture(scope="module")
def noisy(digits):
    parts = fb.partitions.by_size(digits, [120, 120, 400], seed=2)
    table, changed = fb.corruptions.add_noise(parts.clients["client_1"], 0.2, sigma=2.0, seed=0)
    return {"noisy": table, "clean": parts.clients["client_2"]}, parts.clients["client_3"], changed


@pytest.mark.parametrize("gradient", ["eta", "gamma"])
def test_feature_noise_stands_out_in_every_variant(noisy, gradient):
    clients, reference, changed = noisy
    settings = fb.Interpolation(gradient=gradient)
    rows = fb.value(clients, reference, protocol=settings, seed=0, rule="sign").rows("noisy")
    assert tuple(rows.columns) == ROW_COLUMNS
    np.testing.assert_array_equal(rows["value"], -rows["calibrated_gradient"])
    assert roc_auc_score(changed, rows["calibrated_gradient"]) > 0.95
    np.testing.assert_array_equal(rows["flag"], rows["calibrated_gradient"] > 0)


@pytest.fixture(scope="module")
def result(noisy):
    clients, reference, _ = noisy
    hostile = {"<b>": clients["noisy"], "../../etc/passwd": clients["clean"], "=SUM(A1)": clients["clean"].take([0, 1])}
    return fb.value(hostile, reference, protocol="interpolation", seed=3)


def test_frames_have_every_column_and_na_where_the_protocol_is_silent(result):
    assert tuple(result.clients.columns) == CLIENT_COLUMNS
    assert result.clients[["excess", "quality", "flagged"]].isna().all().all()
    assert result.clients["client"].tolist() == ["<b>", "../../etc/passwd", "=SUM(A1)"]
    rows = result.rows("<b>")
    assert rows[["feature_score", "label_score", "p_value", "flag", "reason", "suggested_label"]].isna().all().all()
    assert result.failed.keys() == {"=SUM(A1)"}
    assert result.outcomes["=SUM(A1)"].has("schema.too-few-rows")
    assert result.ranking()["client"].iloc[-1] == "=SUM(A1)"


def test_a_saved_result_loads_to_the_same_result(result, tmp_path):
    result.save(tmp_path / "out")
    again = fb.Valuation.load(tmp_path / "out")
    pd.testing.assert_frame_equal(again.clients, result.clients)
    pd.testing.assert_frame_equal(again.history, result.history)
    assert again.settings == json.loads(json.dumps(result.settings))
    assert again.schema.fingerprint == result.schema.fingerprint
    for name in ("<b>", "../../etc/passwd"):
        pd.testing.assert_frame_equal(again.rows(name), result.rows(name))
    files = {path.name for path in (tmp_path / "out" / "rows").iterdir()}
    assert files == {"b.parquet", "b.csv", "etc_passwd.parquet", "etc_passwd.csv"}
    assert not list(tmp_path.glob("*.parquet"))
    assert "'=SUM(A1)" in (tmp_path / "out" / "clients.csv").read_text()


def test_the_settings_of_a_result_repeat_the_run(noisy, result):
    kept = result.settings
    names = ("support", "rounds", "t", "p", "interpolation", "min_group", "tolerance", "gradient")
    protocol = fb.Interpolation(**{name: kept[name] for name in names})
    clients, reference, _ = noisy
    again = fb.value(
        {"<b>": clients["noisy"]}, reference, protocol=protocol, space=fb.Space(**kept["space"]), seed=kept["seed"]
    )
    assert again.clients["distance"][0] == result.clients["distance"][0]


def test_a_run_without_a_seed_draws_one_and_keeps_it(noisy):
    clients, reference, _ = noisy
    first = fb.value(clients, reference)
    second = fb.value(clients, reference, seed=first.settings["seed"])
    pd.testing.assert_frame_equal(first.clients, second.clients)


def test_unknown_and_broken_results_are_refused(result, tmp_path):
    with pytest.raises(DataError, check=coded("valuation.no-result")):
        fb.Valuation.load(tmp_path)
    home = result.save(tmp_path / "r")
    index = json.loads((home / "valuation.json").read_text())
    (home / "valuation.json").write_text(json.dumps({**index, "version": 9}))
    with pytest.raises(DataError, check=coded("valuation.other-version")):
        fb.Valuation.load(home)
    with pytest.raises(SettingsError, check=coded("valuation.no-client")):
        result.rows("nobody")
    with pytest.raises(SettingsError, check=coded("valuation.without-rows")):
        result.rows("=SUM(A1)")


def test_a_servers_result_has_no_rows(result):
    from dataclasses import replace

    with pytest.raises(PrivacyError, check=coded("valuation.rows-at-their-owner")):
        replace(result, _rows=None).rows("<b>")


def test_clients_whose_rows_could_not_be_valued_are_named_with_the_reason(result, tmp_path):
    name = str(result.clients["client"][0])
    half = with_rows(result, {}, {name: Note("valuation.scoring-model-incoherent")})
    assert half.without_rows == (name,)
    assert half.outcomes[name].notes[-1].facts["why"] == Note("valuation.scoring-model-incoherent")
    assert half.clients["status"][0] == "ok"
    assert half.clients["notes"][0].endswith(half.outcomes[name].text)
    again = fb.Valuation.load(half.save(tmp_path / "half"))
    assert again.without_rows == (name,)
    with pytest.raises(fb.FedbaryError, check=coded("valuation.without-rows")):
        again.rows(name)


def test_notes_of_any_text_are_saved_and_come_back(result, tmp_path):
    """A file's name need not be Unicode, and what another library says need not fit on a line."""
    name = str(result.clients["client"][0])
    odd = Note("internal.error", {"where": "ward\udc80.csv", "kind": "OSError", "text": "two\nlines" + "x" * 900})
    noted = with_rows(result, {}, {name: odd})
    again = fb.Valuation.load(noted.save(tmp_path / "odd"))
    (why,) = (note.facts["why"] for note in again.outcomes[name].notes if note.code == "valuation.no-row-values")
    assert (why.code, why.facts["kind"]) == (odd.code, "OSError")
    assert why.facts["text"].startswith("two lines")
