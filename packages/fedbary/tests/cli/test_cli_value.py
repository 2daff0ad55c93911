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
    assert "2 clients valued by the interpolation protocol against 60 reference rows." in out
    assert max(map(len, out.splitlines())) <= 80
    expected = fb.value(
        fb.read_clients(sites, label="ill", id="id"),
        fb.read("reference.csv", label="ill", id="id"),
        protocol=fb.Interpolation(rounds=3),
        seed=0,
    )
    assert fb.Valuation.load("out").clients.equals(expected.clients)
    assert all((tmp_path / "out" / name).is_file() for name in ("report.html", "events.jsonl", "rows/north.csv"))


def test_worth_picks_cards(fedbary, sites):
    code, out, _ = fedbary(
        "value", sites, "--label", "ill", "--id", "id", "--reference", "reference.csv", "--worth", "--json"
    )
    assert code == 0
    content = json.loads(out)
    assert content["settings"]["protocol"] == "cards"
    assert all(client["worth"] is not None for client in content["clients"])


def test_a_reference_among_the_files_is_not_a_client(fedbary, sites):
    code, out, _ = fedbary("value", sites / "north.csv", "*.csv", *BASE, "--json")
    assert code == 0
    assert [client["client"] for client in json.loads(out)["clients"]] == ["north"]


def test_options_reach_the_settings(fedbary, sites):
    options = ("--support", 3, "--t", 0.5, "--p", 1, "--min-group", 4, "--gradient", "gamma", "--metric", "within")
    more = ("--labels", "onehot", "--projection", 2, "--scaling", "none", "--task", "classification")
    rest = ("--missing", "refuse", "--rule", "sign", "--seed", 5, "--workers", 1, "--device", "cpu")
    code, out, _ = fedbary("value", sites, *BASE, *options, *more, *rest, "--json")
    found = json.loads(out)["settings"]
    assert code == 0
    assert [found[k] for k in ("support", "t", "p", "min_group", "gradient", "rule", "seed", "device")] == [
        *(3, 0.5, 1, 4, "gamma", "sign", 5, "cpu")
    ]
    assert [found["space"][k] for k in ("metric", "labels", "projection", "scaling", "task", "missing")] == [
        *("within", "onehot", 2, "none", "classification", "refuse")
    ]


def test_json_is_all_of_standard_output_and_has_null_for_what_is_unknown(shell, sites):
    (sites / "empty.csv").touch()
    done = shell("value", sites, *BASE, "--json")
    content = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (3, "")
    assert [client["client"] for client in content["clients"]][-1] == "empty"
    assert (content["clients"][-1]["distance"], content["clients"][-1]["status"]) == (None, "failed")
    assert [(note["code"], note["facts"]) for note in content["clients"][-1]["notes"]] == [
        ("data.file-empty", {"where": f"{sites}/empty.csv"})
    ]
    assert (content["clients"][0]["status"], content["clients"][0]["notes"]) == ("ok", [])
    assert content["clients"][0]["excess"] is None
    assert content["settings"]["rounds"] == 3
    assert content["files"]["report"] == "fedbary-out/report.html"


def test_some_clients_fail_and_the_others_are_written(shell, sites, tmp_path):
    (sites / "empty.csv").touch()
    done = shell("value", "sites/*.csv", *BASE)
    assert (done.returncode, done.stderr) == (3, "")
    assert "• empty could not be valued: failed, sites/empty.csv: " in done.stdout
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


def test_a_missing_file_is_bad_input(refused, shell, sites):
    assert refused("value", "sites/nowhere.csv", *BASE).code == "data.no-file-matches"
    done = shell("value", "sites/nowhere.csv", *BASE)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


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
    assert "• oops] could not be valued: failed, sites/[/oops].csv: " in " ".join(out.split())


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
    ("line", "code", "key"),
    [
        ("suport = 3", "cli.config-unknown-key", "suport"),
        ("zzz = 3", "cli.config-unknown-key", "zzz"),
        ("support = true", "cli.config-wrong-value", "support"),
        ("resume = 1", "cli.config-wrong-value", "resume"),
        ("files = [[1]]", "cli.config-wrong-value", "files"),
        ("not toml", "cli.config-not-toml", None),
    ],
)
def test_a_wrong_configuration_is_named_with_its_key(refused, sites, tmp_path, line, code, key):
    (tmp_path / "run.toml").write_text(line)
    error = refused("value", sites, "--label", "ill", "--config", "run.toml")
    assert (error.code, error.private["file"], error.private.get("key")) == (code, "run.toml", key)


def test_a_value_of_another_type_in_a_configuration_is_refused_as_if_typed(fedbary, sites, tmp_path):
    (tmp_path / "run.toml").write_text("support = 2.5")
    code, out, err = fedbary("value", sites, "--label", "ill", "--config", "run.toml")
    assert (code, out) == (2, "")
    assert err.startswith("error: Invalid value for '--support': ")


def test_resume_without_a_checkpoint_just_runs(fedbary, sites):
    assert fedbary("value", sites, *BASE, "--resume")[0] == 0


def test_resume_goes_on_from_the_last_round_to_the_same_result(fedbary, refused, sites):
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
    assert refused("value", sites, *BASE, "-o", "stopped", "--protocol", "magic").code == "settings.no-protocol"


def test_the_worth_of_clients_is_printed_and_written(fedbary, refused, sites):
    options = ("--label", "ill", "--id", "id", "--reference", "reference.csv", "--protocol", "cards", "--worth")
    code, out, _ = fedbary("value", sites, *options, "-o", "out")
    assert code == 0
    assert "2 clients valued by the cards protocol" in out
    assert max(map(len, out.splitlines())) <= 80
    scores = pd.read_csv("out/scores.csv")
    assert list(scores.columns) == ["client", "value", "standard_error", "share"]
    code, out, _ = fedbary("value", sites, *options, "-o", "other", "--json")
    assert len(json.loads(out)["scores"]) == 2
    page = (sites.parent / "out" / "report.html").read_text(encoding="utf-8")
    assert "by what it adds to the others" in page
    assert "Shapley value" in page
    error = refused("value", sites, *options, "--rounds", 1, "-o", "third")
    assert (error.code, error.private["typed"]) == ("cli.option-of-another-protocol", "--rounds")


@pytest.mark.parametrize("named", [False, True])
def test_a_reference_need_not_say_whose_its_rows_are(sites, fedbary, named):
    north, south = (pd.read_csv(sites / f"{name}.csv").assign(branch=name) for name in ("north", "south"))
    pd.concat([north, south]).to_csv("all.csv", index=False)
    reference = pd.read_csv("reference.csv")
    (reference.assign(branch="head office") if named else reference).to_csv("validation.csv", index=False)
    code, _, err = fedbary(
        "value", "all.csv", "--client-column", "branch", "--label", "ill", "--reference", "validation.csv", "-o", "out"
    )
    assert code == 0, err
    assert set(pd.read_csv("out/clients.csv")["client"]) == {"north", "south"}
    assert "branch" not in fb.Valuation.load("out").schema.reading
