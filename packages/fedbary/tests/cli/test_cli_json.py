"""--json: strict JSON, and nothing else, on standard output of every command that prints results."""

import fedbary as fb

pytest_plugins = ["cli_fixtures"]

BASE = ("--label", "ill", "--id", "id", "--reference", "reference.csv")


def test_value_and_rows(parsed, sites):
    (sites / "empty.csv").touch()
    content = parsed("value", sites, *BASE, "-o", "out", code=3)
    assert content["clients"][-1]["distance"] is None
    content = parsed("rows", "out", "--client", "north", "--export", "clean", "-n", 3)
    assert (content["client"], content["total"], len(content["rows"])) == ("north", 40, 3)
    assert content["written"].endswith("north-clean.csv")
    assert parsed("value", sites, *BASE, "--protocol", "interpolation", "-o", "other", code=3)["clients"]
    content = parsed("rows", "other", "--client", "north")
    assert (content["flagged"], content["written"]) == (None, None)


def test_check(parsed, sites, spoil):
    spoil("holes", lambda frame: frame.assign(age=frame["age"].where(frame.index > 3)))
    content = parsed("check", sites / "holes.csv", "--label", "ill", "--id", "id")
    age = {"name": "age", "kind": "number", "missing": 4, "constant": False, "levels": 26, "used": True}
    assert content["columns"][0].items() >= age.items()
    assert {one["class"] for one in content["label"]["classes"]} == {"yes", "no"}
    assert (content["refused"], content["findings"]) == (False, [])
    assert parsed("value", sites, *BASE, "-o", "out")
    content = parsed("check", sites / "north.csv", "--id", "id", "--schema", "out/schema.json")
    assert (content["schema"], content["refused"]) == (fb.Schema.load("out/schema.json").fingerprint, False)
    assert content["would_send"][0] == "40 rows"
    spoil("few", lambda frame: frame.head(3))
    finding, *_ = parsed("check", sites / "few.csv", "--label", "ill", "--id", "id", code=2)["findings"]
    assert (finding["code"], finding["severity"]) == ("schema.too-few-rows", "refused")
    numbers = parsed("check", sites / "north.csv", "--label", "age", "--id", "id")
    assert numbers["label"]["low"] <= numbers["label"]["mean"] <= numbers["label"]["high"]


def test_an_owner_s_commands(parsed, fedbary, sites):
    content = parsed("preview", sites / "north.csv", *BASE)
    assert content["answers"]
    assert fedbary("policy", "init", "policy.toml")[0] == 0
    assert parsed("policy", "check", "policy.toml")["min_group"] == 5


def test_the_demo(parsed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = parsed("demo", "-o", "demo")
    assert content["spoilt_rows"] == {"clinic_c": 100, "clinic_d": 100}
    assert len(content["clients"]) == 5
