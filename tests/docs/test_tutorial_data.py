"""The tutorial's tables are what the script makes, and the story that the pages tell about them is true."""

import importlib.util

import pandas as pd
from page_blocks import ROOT

import fedbary as fb

FOLDER = ROOT / "examples" / "hospitals"


def script():
    spec = importlib.util.spec_from_file_location("hospitals_script", ROOT / "examples" / "hospitals.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_the_tables_again(tmp_path):
    script().write(tmp_path)
    names = sorted(path.name for path in FOLDER.iterdir() if path.suffix != ".md")
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        read = pd.read_parquet if name.endswith(".parquet") else pd.read_csv
        pd.testing.assert_frame_equal(read(tmp_path / name), read(FOLDER / name))
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 500_000


def test_no_patient_is_in_two_tables_and_the_csv_is_the_parquet_file():
    tables = [pd.read_parquet(path) for path in sorted(FOLDER.glob("*.parquet"))]
    everybody = pd.concat(tables)
    assert len(everybody) == 569
    assert everybody["patient"].is_unique
    twin = pd.read_csv(FOLDER / "hospital_south.csv")
    pd.testing.assert_frame_equal(twin, pd.read_parquet(FOLDER / "hospital_south.parquet"), check_dtype=False)


def test_the_verdict_is_right_and_the_flags_find_what_was_put_in():
    clients = fb.read_clients(str(FOLDER / "hospital_*.parquet"), label="diagnosis", id="patient")
    reference = fb.read(FOLDER / "validation.parquet", label="diagnosis", id="patient")
    result = fb.value(clients, reference, seed=0)
    assert result.ranking()["client"].tolist() == ["hospital_north", "hospital_south", "hospital_west"]
    truth = pd.read_csv(FOLDER / "truth.csv").groupby("hospital")["patient"].agg(set)
    found = {name: set(rows.loc[rows["flag"], "row"]) for name in clients for rows in [result.rows(name)]}
    assert found["hospital_north"] == set()
    assert result.select() == ["hospital_north"]
    for name in truth.index:
        rows = result.rows(name)
        doubted = set(rows.loc[rows["flag"] | rows["suspect"], "row"])
        assert len(doubted & truth[name]) >= 0.8 * len(truth[name])
        assert len(found[name] - truth[name]) <= 4
    reasons = {name: set(result.rows(name).query("flag")["reason"]) for name in truth.index}
    assert reasons["hospital_south"] == {"label"}


def test_it_goes_as_well_with_other_seeds(capsys):
    assert script().try_seeds(3)
    assert capsys.readouterr().out.count("include") == 3
