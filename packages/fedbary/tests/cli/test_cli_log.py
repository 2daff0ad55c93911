"""--quiet, --verbose and --log, before or after the command's name; and that the log holds no data."""

import json

import pytest
from cli_fixtures import people

pytest_plugins = ["cli_fixtures"]

BASE = ("--label", "ill", "--id", "id", "--reference", "reference.csv")
CITY, LABEL, AGE, ID = "Xanthippe-on-Sea", "quokka-positive", 41.98765, "patient-zulu"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("before", [True, False])
def test_quiet_prints_nothing_but_errors_and_json(fedbary, refused, sites, before):
    def call(*more, run=fedbary):
        rest = ("value", sites, *BASE, *more)
        return run("--quiet", *rest) if before else run(*rest, "-q")

    assert call() == (0, "", "")
    code, out, err = call("--json")
    assert (code, err, len(json.loads(out)["clients"])) == (0, "", 2)
    assert call("--protocol", "sketsch", run=refused).code == "settings.no-protocol"


def test_quiet_still_says_which_client_failed(fedbary, sites):
    (sites / "empty.csv").touch()
    code, out, err = fedbary("value", sites, *BASE, "-q")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("error: empty: failed: ")


@pytest.mark.parametrize("before", [True, False])
def test_verbose_says_on_standard_error_who_answered(fedbary, refused, sites, before):
    rest = ("value", sites, *BASE)
    code, out, err = fedbary("-v", *rest) if before else fedbary(*rest, "--verbose")
    assert code == 0
    assert "2 clients valued" in out
    assert "reading the files" in err
    assert "north answered" in err
    assert refused(*rest, "--verbose", "--quiet").code == "cli.quiet-and-verbose"


def test_the_log_says_what_happened_and_holds_no_data(fedbary, sites, tmp_path):
    """A client that is fine, and others that fail on distinctive cells, labels and ids."""
    secret = people(60, seed=5).replace({"Bern": CITY, "yes": LABEL})
    secret.loc[3, ["age", "id"]] = [AGE, ID]
    secret.to_csv(sites / "clinic-omega.csv", index=False)
    secret.assign(age=secret["age"].astype(object).where(secret.index != 4, CITY)).to_csv(
        sites / "clinic-psi.csv", index=False
    )
    secret.assign(id=ID).to_csv(sites / "clinic-chi.csv", index=False)
    people(60, seed=3).replace({"Bern": CITY, "yes": LABEL}).to_csv(tmp_path / "reference.csv", index=False)
    log = tmp_path / "run.log"
    for more in ((), ("--protocol", "interpolation", "--seed", "77123"), ("--labels", CITY)):
        fedbary("value", sites, *BASE, *more, "--log", log)
    fedbary("--log", log, "check", sites / "clinic-psi.csv", "--label", LABEL)
    fedbary("--log", log, "rows", "fedbary-out", "--client", "clinic-omega")
    text = log.read_text(encoding="utf-8")
    for private in (CITY, LABEL, str(AGE), ID, "patient", "clinic", "north", "reference.csv", str(sites), "77123"):
        assert private not in text
    found = lines(log)
    assert [line["command"].split()[-1] for line in found if line["what"] == "started"] == [
        *("value", "value", "value", "check", "rows")
    ]
    assert found[0]["options"] == ["FILES", "--label", "--id", "--reference", "--log"]
    ended = [line for line in found if line["what"] == "ended"]
    assert [line["code"] for line in ended] == [3, 3, 2, 2, 0]
    assert [line.get("error") for line in ended] == [None, None, "SettingsError", "DataError", None]
    assert ended[2]["raised_at"].startswith("checks.py:")
    events = [line for line in found if line["what"] == "event"]
    assert {"run-started", "client-replied", "client-failed", "run-finished"} <= {line["kind"] for line in events}
    assert {line["client"] for line in events if "client" in line} <= {1, 2, 3, 4, 5}
    assert log.stat().st_mode & 0o077 == 0


def test_a_log_that_cannot_be_written_is_bad_input(refused, sites):
    assert refused("value", sites, *BASE, "--log", "nowhere/run.log").code == "cli.log-unwritable"


def test_a_log_in_a_configuration_lies_beside_it(fedbary, sites, tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text(
        'log = "run.log"\nlabel = "ill"\nid = "id"\nprotocol = "interpolation"\nquiet = true\n'
    )
    monkeypatch.chdir(sites)
    assert fedbary("value", ".", "--config", "../run.toml") == (0, "", "")
    assert lines(tmp_path / "run.log")[-1]["code"] == 0
