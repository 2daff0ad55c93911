"""Protocols over FLARE's proxies in this process: same numbers, owners' files, and sites that misbehave."""

import json
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from nvflare.collab import collab

import fedbary as fb
from codes import parameter
from fedbary.engines.coordinator import read_outcome
from fedbary.engines.packed import packed_message
from fedbary.errors import SettingsError
from fedbary.guard.ledger import Ledger
from fedbary.guard.node import Envelope, Question
from fedbary.notes import Note
from fedbary.nvflare import Coordinator, Simulator, Site, recipe
from fedbary.protocols.messages import Message
from fedbary.valuation.outcome import Status
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import RowRules
from fedbary_nvflare.engine import NvflareEngine
from flare_inprocess import Job, Misbehaving, drawn_tables, owners_files, write_table

SIMULATION = {"dataset": "digits", "partition": "case-5", "clients": 5, "rows": 60, "seed": 3}


def sites(count, faults=None):
    """Sites of a job by name; ``faults`` has those that misbehave."""
    return {f"site-{i + 1}": Site() for i in range(count)} | (faults or {})


def run(job, config):
    """The result that the job's main writes."""
    job.run(Coordinator({"timeout": 60.0, **config}))
    return Valuation.load(config.get("output", job.folder / "server" / "simulate_job" / "fedbary"))


# --- same numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        (fb.Sketch(), {}),
        (fb.Cards(), {}),
        (fb.Cards(worth=True), {"worth": True}),
        (fb.Interpolation(rounds=3), {"rounds": 3}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_protocols_give_the_numbers_of_the_local_engine(tmp_path, protocol, options):
    pool = fb.datasets.load("digits")
    tables = fb.partitions.paper_case(pool.train, 5, clients=5, rows=300, seed=3).clients
    tables = {f"site-{place + 1}": table for place, table in enumerate(tables.values())}
    referred = protocol.name != "cards" or protocol.worth
    expected = fb.value(tables, pool.test if referred else None, protocol=protocol, seed=3)
    found = run(Job(tmp_path, sites(5)), {**SIMULATION, "protocol": protocol.name, **options})
    assert found.clients["client"].tolist() == expected.clients["client"].tolist()
    for column in ("rows", "distance", "low", "high", "share", "excess", "quality"):
        np.testing.assert_allclose(
            found.clients[column].astype(float), expected.clients[column].astype(float), atol=1e-9, rtol=0
        )
    outcome = read_outcome(tmp_path / "server" / "simulate_job" / "fedbary")
    assert (outcome.status, outcome.engine, outcome.run) == ("done", "nvflare", "simulate_job")
    (file,) = tmp_path.glob("site-1/fedbary/partition-0/results/*/rows.parquet")
    np.testing.assert_allclose(pd.read_parquet(file)["value"], expected.rows("site-1")["value"], atol=1e-9)
    assert found.settings["nodes"] == {name: name for name in tables}
    assert (found.settings["engine"], found.settings["networked"]) == ("nvflare", False)


# --- owners -------------------------------------------------------------------------------------------


def test_owners_files_policies_and_ledgers_count_and_not_what_the_job_says(tmp_path):
    tables, reference = drawn_tables(3)
    owners_files(tmp_path, tables)
    (tmp_path / "strict.toml").write_text("min_group = 50\n")
    strict = tmp_path / "site-1" / "local" / "fedbary.toml"
    strict.write_text(strict.read_text() + f"policy = {json.dumps(str(tmp_path / 'strict.toml'))}\n")
    config = {"protocol": "sketch", "reference": write_table(tmp_path / "reference.parquet", reference)}
    # The job claims to be a simulation; the sites have owners all the same.
    claimed = {"dataset": "digits", "clients": 3, "rows": 20}
    for more, simulated in (({}, False), (claimed, True)):
        job = Job(tmp_path, sites(3), simulated=simulated)
        found = run(job, {**config, **more, "output": str(tmp_path / f"out-{simulated}")})
        assert found.outcomes["site-1"].status is Status.REFUSED
        assert found.outcomes["site-1"].notes == (Note("guard.min-group", {"asked": 5, "least": 50}),)
        assert list(found.failed) == ["site-1"]
        # An owner without a policy answers guardedly.
        expected = fb.value(tables, reference, protocol=fb.Sketch(policy="coarsen"), seed=0).clients.set_index("client")
        own = found.clients.set_index("client")
        for name in ("site-2", "site-3"):
            assert own.loc[name, "distance"] == pytest.approx(expected.loc[name, "distance"], abs=1e-9)
    refused = Ledger(tmp_path / "state" / "site-1" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in refused.entries] == [("refusal", "sketch")] * 2
    asked = Ledger(tmp_path / "state" / "site-2" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in asked.entries][:2] == [("question", "sketch"), ("reply", "sketch")]
    assert not list(tmp_path.glob("site-*/fedbary"))  # nothing was simulated


def test_a_site_without_its_owners_file_answers_nothing_and_the_variable_names_another(tmp_path, monkeypatch):
    tables, reference = drawn_tables(3)
    owners_files(tmp_path, tables)
    typo = tmp_path / "site-3" / "local" / "fedbary.toml"
    typo.write_text(typo.read_text() + "polciy = 'strict.toml'\n")
    config = {"protocol": "sketch", "reference": write_table(tmp_path / "reference.parquet", reference)}
    own, other = (tmp_path / name / "local" / "fedbary.toml" for name in ("site-1", "site-2"))
    own.rename(tmp_path / "elsewhere.toml")
    other.write_text("data-path = [")
    found = run(Job(tmp_path, sites(3), simulated=False), {**config, "output": str(tmp_path / "one")})
    assert {name: outcome.notes[0].code for name, outcome in found.outcomes.items()} == {
        "site-1": "engines.site-without-config",
        "site-2": "engines.site-config-unreadable",
        "site-3": "engines.site-config-unknown-key",
    }
    assert str(tmp_path) not in json.dumps(found.failed)
    monkeypatch.setenv("FEDBARY_NODE", str(tmp_path / "elsewhere.toml"))
    found = run(Job(tmp_path, sites(3), simulated=False), {**config, "output": str(tmp_path / "two")})
    assert found.failed == {}


class Loading(Site):
    """A site whose rows are loaded by code, as in an app that trains."""

    def __init__(self, tables):
        self.tables = tables

    def load_table(self, site):
        return self.tables[site]


def test_a_class_of_ones_own_loads_rows_in_simulations_and_behind_the_owners_file_alone_elsewhere(tmp_path):
    tables, reference = drawn_tables(3)
    config = {"protocol": "sketch", "reference": write_table(tmp_path / "reference.parquet", reference)}
    clients = {name: Loading(tables) for name in tables}
    found = run(Job(tmp_path, clients), {**config, "output": str(tmp_path / "one")})
    expected = fb.value(tables, reference, protocol="sketch", seed=0)
    np.testing.assert_allclose(found.clients["distance"], expected.clients["distance"], atol=1e-9)
    assert not list(tmp_path.rglob("ledger.jsonl"))
    local = tmp_path / "site-2" / "local"
    (local / "fedbary.toml").write_text(f"state-path = {json.dumps(str(tmp_path / 'state'))}\n")
    found = run(Job(tmp_path, clients, simulated=False), {**config, "output": str(tmp_path / "two")})
    assert list(found.failed) == ["site-1", "site-3"]
    assert found.outcomes["site-1"].has("engines.site-without-config")
    assert [file.parent.name for file in tmp_path.rglob("ledger.jsonl")] == ["loaded"]


class Nosy(Site):
    """A site that asks another one, as sites of a job can."""

    def __init__(self, message):
        self.message = message

    @collab.publish
    def ask(self, message: dict) -> dict:
        (other,) = (proxy for proxy in collab.clients if proxy.name == "site-2")
        self.found = other.ask(self.message)
        return super().ask(message)


def test_sites_do_not_answer_each_other(tmp_path):
    tables, reference = drawn_tables(2)
    owners_files(tmp_path, tables)
    settings = Question(fb.Sketch(), RowRules(), {}).to_json()
    envelope = Envelope("0" * 32, "sketch", 0, 1, settings=settings, nonce="b")
    nosy = Nosy(packed_message(Message("sketch", 0), envelope).to_plain())
    config = {"protocol": "sketch", "reference": write_table(tmp_path / "reference.parquet", reference)}
    found = run(Job(tmp_path, sites(2, {"site-1": nosy}), simulated=False), {**config, "output": str(tmp_path / "out")})
    assert found.failed == {}
    assert "engines.asked-by-a-site" in nosy.found["head"]["note"]
    ledger = Ledger(tmp_path / "state" / "site-2" / "ledger.jsonl").read()
    assert sorted(entry.what for entry in ledger.entries)[-1] == "reply"
    assert "refusal" in {entry.what for entry in ledger.entries}


# --- sites that misbehave -----------------------------------------------------------------------------

FAULTS = {
    "raises": "engines.app-failed",
    "silent": "engines.no-answer",
    "nan": "protocols.number-unfit",
    "wrong shape": "protocols.unknown-field",
    "replays a run": "engines.reply-of-another-run",
    "wrong version": "engines.other-version",
    "no message": "engines.not-ours",
}


def test_bad_sites_are_named_with_a_reason_and_all_others_are_valued(tmp_path):
    tables, reference = drawn_tables(20)
    owners_files(tmp_path, tables)
    config = {"protocol": "sketch", "reference": write_table(tmp_path / "reference.parquet", reference), "retries": 0}
    bad = {f"site-{2 * place + 1}": Misbehaving(fault) for place, fault in enumerate(FAULTS)}
    job = Job(tmp_path, sites(20, bad), simulated=False)
    found = run(job, {**config, "output": str(tmp_path / "out")})
    codes = {bad[name].fault: found.outcomes[name].notes[0].code for name in bad}
    assert codes == FAULTS
    assert set(found.failed) == set(bad)
    assert "secret.parquet" not in " | ".join(found.failed.values())
    healthy = found.clients[~found.clients["client"].isin(bad)].set_index("client")
    expected = fb.value(tables, reference, protocol=fb.Sketch(policy="coarsen"), seed=0).clients.set_index("client")
    np.testing.assert_allclose(healthy["distance"], expected.loc[healthy.index, "distance"], atol=1e-9)


def test_a_replayed_round_is_noticed(tmp_path):
    job = Job(tmp_path, sites(5, {"site-2": Misbehaving("replays")}))
    found = run(job, {**SIMULATION, "protocol": "interpolation", "rounds": 3})
    assert list(found.failed) == ["site-2"]
    assert found.outcomes["site-2"].has("engines.reply-not-asked")


@pytest.mark.federation
@pytest.mark.timeout(1800)
def test_a_thousand_sites_of_which_every_fifth_fails(tmp_path):
    tables, reference = drawn_tables(1000)
    owners_files(tmp_path, tables)
    config = {"protocol": "sketch", "reference": write_table(tmp_path / "reference.parquet", reference), "retries": 0}
    config |= {"lower": "triangle", "timeout": 200.0}
    five = ["raises", "vanishes", "nan", "wrong shape", "replays a run"]
    bad = {f"site-{5 * place + 1}": Misbehaving(five[place % 5]) for place in range(200)}
    job = Job(tmp_path, sites(1000, bad), simulated=False)
    found = run(job, {**config, "output": str(tmp_path / "out")})
    assert Counter(outcome.notes[0].code for outcome in found.outcomes.values() if not outcome.ok) == {
        (FAULTS | {"vanishes": "engines.no-answer"})[fault]: 40 for fault in five
    }
    healthy = found.clients[~found.clients["client"].isin(bad)].set_index("client")
    alone = {name: table for name, table in tables.items() if name not in bad}
    guarded = fb.Sketch(lower="triangle", policy="coarsen")
    expected = fb.value(alone, reference, protocol=guarded, seed=0).clients.set_index("client")
    np.testing.assert_allclose(healthy["distance"], expected.loc[healthy.index, "distance"], atol=1e-9)


def test_a_killed_server_goes_on_in_a_new_job(tmp_path, monkeypatch):
    config = {**SIMULATION, "protocol": "interpolation", "rounds": 4, "t": 0.5}
    straight = run(Job(tmp_path, sites(5)), {**config, "output": str(tmp_path / "straight")})
    config |= {"output": str(tmp_path / "out")}
    whole, rounds = NvflareEngine.deliver, []

    def dying(*arguments):
        rounds.append(1)
        if len(rounds) == 4:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(NvflareEngine, "deliver", dying)
    Job(tmp_path, sites(5)).run(Coordinator(config))
    assert read_outcome(tmp_path / "out").exit_code == 130
    monkeypatch.undo()
    found = run(Job(tmp_path, sites(5)), {**config, "resume": True})
    pd.testing.assert_frame_equal(found.clients, straight.clients)


class Aborting(Site):
    """A site in whose answer the job is aborted."""

    @collab.publish
    def ask(self, message: dict) -> dict:
        self.job.abort()
        time.sleep(1.5)  # FLARE looks every second
        return super().ask(message)


def test_an_aborted_job_ends_as_interrupted(tmp_path):
    tables, _ = drawn_tables(2)
    owners_files(tmp_path, tables)
    aborting = Aborting()
    aborting.job = job = Job(tmp_path, sites(2, {"site-1": aborting}), simulated=False)
    job.run(Coordinator({"output": str(tmp_path / "out"), "timeout": 60.0}))
    outcome = read_outcome(tmp_path / "out")
    assert (outcome.status, outcome.exit_code) == ("failed", 130)
    assert not (tmp_path / "out" / "valuation.json").exists()


# --- what a job holds ---------------------------------------------------------------------------------


def test_a_job_brings_no_code_and_nothing_for_its_sites(tmp_path):
    recipe({"protocol": "cards"}, name="hospitals", min_clients=3).export(str(tmp_path))
    assert {file.name for file in tmp_path.rglob("*") if file.is_file()} == {
        "meta.json", "config_fed_client.json", "config_fed_server.json"
    }  # fmt: skip
    (file,) = tmp_path.rglob("config_fed_client.json")
    client = json.loads(file.read_text())
    paths = [part["path"] for part in (*client["components"], client["executors"][0]["executor"])]
    assert paths == ["fedbary_nvflare.site.Site", "nvflare.collab.runtime.executor.CollabExecutor"]
    assert client["components"][0]["args"] == {}


@pytest.mark.parametrize("sites", [0, 101, []])
def test_more_sites_than_flare_simulates_are_refused(tmp_path, sites):
    with pytest.raises(SettingsError, check=parameter("sites")):
        Simulator(sites, tmp_path)


def test_flare_and_flower_live_in_one_process_and_the_core_needs_neither():
    script = "import sys, fedbary, fedbary.cli; print({'flwr', 'nvflare'} & set(sys.modules))"
    script += "; from fedbary.flower import answers; from fedbary.nvflare import recipe"
    script += "; print({'flwr', 'nvflare'} <= set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["set()", "True"]
