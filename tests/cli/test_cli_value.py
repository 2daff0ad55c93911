"""`fedbary value`: results, failures, configuration, JSON and resuming."""

import json

import pandas as pd
import pytest

import fedbary as fb

pytest_plugins = ["cli_fixtures"]

BASE = ("--label", "ill", "--id", "id", "--reference", "reference.csv", "--protocol", "interpolation", "--rounds", 3)


def test_a_folder_is_valued_as_the_library_does(fedbary, sites, tmp_path):
    code, out, err = fedbary("value", sites, *BASE, "-o", "out")
    assert (code, err) == (0, "")
    assert "2 of 2 clients valued by distance to 60 reference rows." in out
    assert max(map(len, out.splitlines())) <= 80
    expected = fb.value(
        fb.read_clients(sites, label="ill", id="id"),
        fb.read("reference.csv", label="ill", id="id"),
        protocol=fb.Interpolation(rounds=3),
        seed=0,
    )
    assert fb.Valuation.load("out").clients.equals(expected.clients)
    assert all((tmp_path / "out" / name).is_file() for name in ("report.html", "events.jsonl", "rows/north.csv"))


def test_a_reference_among_the_files_is_not_a_client(fedbary, sites):
    code, out, _ = fedbary("value", sites / "north.csv", "*.csv", *BASE, "--json")
    assert code == 0
    assert [client["client"] for client in json.loads(out)["clients"]] == ["north"]


def test_options_reach_the_settings(fedbary, sites):
    options = ("--support", 3, "--t", 0.5, "--p", 1, "--min-group", 4, "--gradient", "gamma", "--metric", "within")
    more = ("--labels", "onehot", "--projection", 2, "--scaling", "none", "--task", "classification")
    rest = ("--missing", "impute", "--rule", "sign", "--seed", 5, "--workers", 1)
    code, out, _ = fedbary("value", sites, *BASE, *options, *more, *rest, "--json")
    found = json.loads(out)["settings"]
    assert code == 0
    assert [found[k] for k in ("support", "t", "p", "min_group", "gradient", "rule", "seed")] == [
        *(3, 0.5, 1, 4, "gamma", "sign", 5)
    ]
    assert [found["space"][k] for k in ("metric", "labels", "projection", "scaling", "task", "missing")] == [
        *("within", "onehot", 2, "none", "classification", "impute")
    ]


@pytest.mark.slow
def test_json_is_all_of_standard_output_and_has_null_for_what_is_unknown(shell, sites):
    (sites / "empty.csv").touch()
    done = shell("value", sites, *BASE, "--json")
    content = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (3, "")
    assert [client["client"] for client in content["clients"]][-1] == "empty"
    assert content["clients"][-1]["distance"] is None
    assert content["clients"][0]["excess"] is None
    assert content["settings"]["rounds"] == 3
    assert content["files"]["report"] == "fedbary-out/report.html"


@pytest.mark.slow
def test_some_clients_fail_and_the_others_are_written(shell, sites, tmp_path):
    (sites / "empty.csv").touch()
    done = shell("value", "sites/*.csv", *BASE)
    assert (done.returncode, done.stderr) == (3, "")
    assert "• empty: failed: sites/empty.csv: the file is empty" in done.stdout
    result = fb.Valuation.load(tmp_path / "fedbary-out")
    assert list(result.failed) == ["empty"]
    assert "1 could not be valued" in (tmp_path / "fedbary-out/report.html").read_text()


@pytest.mark.parametrize("reference", [(), ("--reference", "reference.csv")])
def test_if_all_clients_fail_the_result_is_written_too(fedbary, sites, reference):
    for site in sites.iterdir():
        site.write_text("")
    code, out, _ = fedbary("value", sites, "--label", "ill", "--id", "id", *reference)
    assert code == 3
    assert "0 of 2 clients valued" in out
    assert fb.Valuation.load("fedbary-out").clients["distance"].isna().all()


def test_a_missing_file_is_one_sentence(shell, sites):
    done = shell("value", "sites/nowhere.csv", *BASE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: no CSV or Parquet file matches 'sites/nowhere.csv'; check the folder or the pattern\n"
    )


HOSTILE = ["[bold red]", "[oops]", "<b>", ":smile:", "evil\x1b[31m", "n" * 120]


def test_hostile_names_are_shown_as_text(fedbary, sites):
    for name in HOSTILE:
        (sites / f"{name}.csv").write_bytes((sites / "north.csv").read_bytes())
    code, out, _ = fedbary("value", sites, *BASE)
    assert code == 0
    assert all(f"\n{name} " in out for name in HOSTILE[:4])
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_client_called_like_closing_markup_fails_as_text(fedbary, sites):
    (sites / "[").mkdir()
    (sites / "[" / "oops].csv").touch()
    code, out, _ = fedbary("value", sites, "sites/[/oops].csv", *BASE)
    assert code == 3
    assert "• oops]: failed: sites/[/oops].csv: the file is empty" in " ".join(out.split())


def test_a_configuration_file_gives_options_and_typed_ones_win(fedbary, sites, tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text(
        'files = "sites"\nlabel = "ill"\nid = "id"\nreference = "reference.csv"\noutput = "from-config"\n'
        'min-group = 4\nrounds = 5\nprotocol = "interpolation"\njson = true\n'
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, out, _ = fedbary("value", "--config", "../run.toml", "--rounds", 2)
    content = json.loads(out)
    assert code == 0
    assert (content["settings"]["min_group"], content["settings"]["rounds"]) == (4, 2)
    assert len(content["clients"]) == 2
    assert (tmp_path / "from-config" / "report.html").is_file()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("suport = 3", "'run.toml' has an unknown key 'suport' (did you mean 'support'?): correct it."),
        ("zzz = 3", "'run.toml' has an unknown key 'zzz': there are adapt, allow_reconstruction, "),
        ("support = 2.5", "Invalid value for '--support': "),
        ("support = true", "The key 'support' in 'run.toml' must be one text or number. Got True instead."),
        ("resume = 1", "The key 'resume' in 'run.toml' must be true or false. Got 1 instead."),
        ("files = [[1]]", "The key 'files' in 'run.toml' must be text, or a list of texts. Got [[1]] instead."),
        ("not toml", "'run.toml' is not a TOML file"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(fedbary, sites, tmp_path, line, sentence):
    (tmp_path / "run.toml").write_text(line)
    code, out, err = fedbary("value", sites, "--label", "ill", "--config", "run.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {sentence}")


def test_resume_without_a_checkpoint_just_runs(fedbary, sites):
    assert fedbary("value", sites, *BASE, "--resume")[0] == 0


def test_resume_goes_on_from_the_last_round_to_the_same_result(fedbary, sites):
    def stop(event):
        if event.exchange == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.value(
            fb.read_clients(sites, label="ill", id="id"),
            fb.read("reference.csv", label="ill", id="id"),
            protocol=fb.Interpolation(rounds=3),
            seed=0,
            engine=fb.LocalEngine(folder="stopped"),
            progress=stop,
        )
    assert fedbary("value", sites, *BASE, "-o", "stopped", "--resume")[0] == 0
    assert fedbary("value", sites, *BASE, "-o", "whole")[0] == 0
    pd.testing.assert_frame_equal(fb.Valuation.load("stopped").clients, fb.Valuation.load("whole").clients)
    code, _, err = fedbary("value", sites, *BASE, "-o", "stopped", "--protocol", "magic")
    sentence = "error: There is no protocol 'magic'; there is sketch, consensus, coalition, interpolation, triangle.\n"
    assert (code, err) == (2, sentence)


def test_coalition_values_are_printed_and_written(fedbary, sites):
    options = ("--label", "ill", "--id", "id", "--reference", "reference.csv", "--protocol", "coalition")
    code, out, _ = fedbary("value", sites, *options, "--utility", "ridge", "-o", "out")
    assert code == 0
    assert "2 of 2 clients valued by what each adds to the others" in out
    assert max(map(len, out.splitlines())) <= 80
    scores = pd.read_csv("out/scores.csv")
    assert list(scores.columns) == ["client", "value", "standard_error", "share"]
    code, out, _ = fedbary("value", sites, *options, "-o", "other", "--json")
    assert len(json.loads(out)["scores"]) == 2
    page = (sites.parent / "out" / "report.html").read_text(encoding="utf-8")
    assert "by what it adds to the others" in page
    assert "Shapley value" in page
    code, _, err = fedbary("value", sites, *options, "--epsilon", 1, "-o", "third")
    assert code == 2
    assert "--epsilon is not an option of the coalition protocol" in err
