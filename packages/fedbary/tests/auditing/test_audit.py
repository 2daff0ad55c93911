"""`fb.audit`: one call, its table, what it recommends, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from audit_policies import guarding_policy, private_policy, trusting_policy
from codes import coded, parameter
from fedbary.auditing import auditor
from fedbary.auditing.finding import Finding, Rate, finding_of
from fedbary.auditing.owner import Defence
from fedbary.auditing.result import recommended
from fedbary.errors import DataError, PrivacyError, SettingsError
from fedbary.notes import Note


def frame(rows=90, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 12, rows),
            "dose": rng.normal(size=rows),
            "city": rng.choice(["Bern", "Oslo", "Rome"], rows),
            "label": rng.choice(["ill", "well"], rows),
        }
    )


@pytest.fixture(scope="module")
def trusting():
    said = []
    found = fb.audit(frame(), "sketch", policy=trusting_policy(), trials=20, progress=said.append)
    return found, said


def test_the_table_has_one_line_for_each_attack(trusting):
    found, said = trusting
    assert list(found.table.columns) == [
        *("attack", "protocol", "setting", "kind", "what", "value", "low", "high", "limit", "holds")
    ]
    assert len(found.table) == len(found.findings) == 13
    assert set(found.table["setting"]) == {"trusted"}
    assert (found.table["low"] <= found.table["value"]).all()
    assert found.table["limit"].isna().all()
    assert said[0] == "reading the rows"
    assert said[-1].startswith("attack 7 of 7")


def test_a_trusted_server_gets_everything_and_breaks_nothing(trusting):
    found, _ = trusting
    assert found.worst.value == 1.0
    assert found.broken == ()
    assert [note.code for note in found.recommendation] == ["audit.ask-once", "audit.use-epsilon"]


def test_it_is_drawn_written_and_told_in_json(trusting, tmp_path):
    found, _ = trusting
    files = found.save(tmp_path / "out")
    assert sorted(files) == ["csv", "html", "json", "md"]
    content = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8"))
    assert content["worst"] == {"attack": found.worst.attack, "value": 1.0}
    assert [one["attack"] for one in content["findings"]] == found.table["attack"].tolist()
    assert len(found.to_markdown().splitlines()) == 2 + len(found.findings)
    assert len(found.to_markdown(header=False).splitlines()) == len(found.findings)
    figure = found.plot()
    drawn = sum(len(trace.y) for trace in figure.data if trace.type == "bar")
    assert drawn == len(found.findings)
    assert "Audit(sketch, trusted" in repr(found)


def test_a_number_as_label_has_no_classes_to_count():
    rng = np.random.default_rng(0)
    table = fb.Table.from_arrays(rng.normal(size=(90, 3)), rng.normal(size=90))
    found = fb.audit(table, "interpolation", trials=20)
    assert "rows of a class" not in set(found.table["attack"])
    assert found.table["protocol"].eq("interpolation").all()


def test_the_largest_epsilon_of_the_policy_is_audited():
    found = fb.audit(frame(), "sketch", policy=fb.OwnerPolicy(epsilon_budget=2.0, max_epsilon=0.5), trials=20)
    assert found.setting == "ε = 0.5"
    assert found.table.set_index("attack")["limit"]["empirical ε"] == 0.5


def test_by_default_it_is_the_default_protocol_and_policy_that_are_audited(monkeypatch):
    """Such an owner answers sketches, too."""
    monkeypatch.setattr(auditor, "_ANY", {})
    found = fb.audit(frame(), trials=20)
    assert (found.protocol, found.setting) == ("cards", "guarded")
    assert found.defence.policy == fb.OwnerPolicy()
    assert fb.audit(frame(), "interpolation", trials=20).defence.policy.protocols == (
        *fb.OwnerPolicy().protocols,
        "interpolation",
    )


def test_a_large_table_is_sampled_and_given_rows_are_the_servers():
    found = fb.audit(frame(1000), "interpolation", reference=frame(60, seed=1), policy="none", trials=20)
    assert found.rows == 400
    assert found.setting == "min_group = 5, 10 rounds, unguarded"


@pytest.mark.parametrize(
    ("arguments", "error", "check"),
    [
        (dict(protocol="consent"), SettingsError, parameter("protocol")),
        (dict(protocol="telepathy"), SettingsError, parameter("protocol")),
        (dict(trials=5), SettingsError, parameter("trials")),
        (dict(seed=-1), SettingsError, parameter("seed")),
        (dict(policy=fb.OwnerPolicy(min_group=9), protocol=fb.Sketch()), PrivacyError, coded("guard.min-group")),
        (dict(policy="no/such/policy.toml"), SettingsError, coded("guard.policy-unreadable")),
        (dict(reference=frame()), SettingsError, coded("audit.reference-alone")),
        (dict(table=frame(30)), DataError, coded("audit.too-few-rows")),
    ],
)
def test_what_cannot_be_audited_is_refused(arguments, error, check):
    with pytest.raises(error, check=check):
        fb.audit(**arguments)


# --- what it recommends -------------------------------------------------------------------------------


def found(code, kind, successes, limit=None):
    return finding_of("an attack", kind, Note(f"audit.{code}"), Rate.of(successes, 100), limit)


QUIET = found("membership", "membership", 1)


@pytest.mark.parametrize(
    ("findings", "defence", "codes"),
    [
        ([QUIET], Defence(fb.Sketch(), guarding_policy()), ["audit.nothing-to-change"]),
        ([found("membership", "membership", 50)], Defence(fb.Sketch(), guarding_policy()), ["audit.use-epsilon"]),
        (
            [found("membership", "membership", 50)],
            Defence(fb.Interpolation(rounds=4), guarding_policy("interpolation")),
            ["audit.use-sketch"],
        ),
        (
            [found("joint-rounds", "reconstruction", 80), QUIET],
            Defence(fb.Interpolation(rounds=4), guarding_policy("interpolation")),
            ["audit.fewer-rounds"],
        ),
        (
            [found("averages", "reconstruction", 80), QUIET],
            Defence(fb.Interpolation(rounds=4), guarding_policy("interpolation")),
            ["audit.no-reconstruction"],
        ),
        (
            [found("attribute", "inference", 99, limit=0.6), QUIET],
            Defence(fb.Sketch(epsilon=0.1), private_policy(0.1)),
            ["audit.promise-broken", "audit.loud-noise"],
        ),
    ],
)
def test_recommendations_follow_from_findings(findings, defence, codes):
    assert [note.code for note in recommended(findings, defence, rows=100)] == codes


def test_a_promise_stands_until_it_is_refuted():
    facts = Note("audit.timing", {"trials": 100})
    assert finding_of("a", "inference", facts, Rate.of(60, 100)).holds is None
    assert finding_of("a", "inference", facts, Rate.of(60, 100), 0.5).holds is True
    assert finding_of("a", "inference", facts, Rate.of(70, 100), 0.5).holds is False
    assert Finding("a", "side channel", facts, 0.1, 0.1, 0.1, 0.0, 0.1).holds is False
