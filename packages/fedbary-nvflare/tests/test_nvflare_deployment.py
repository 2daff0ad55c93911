"""A real federation on FLARE: kits of its provisioner, mutual TLS on loopback, sites with files of their own; faults.

Every job starts a process at each site, so there are as few jobs as show the facts.
"""

import json
import os
import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from deployed import events
from fedbary.cli import main
from fedbary.deploy.plan import Plan
from fedbary.errors import DataError
from fedbary.guard.ledger import Ledger
from fedbary.valuation.outcome import Status
from fedbary_nvflare import network as nvflare
from fedbary_nvflare.session import session
from flare_deployment import POLICY, Deployment
from processes import eventually

pytestmark = [pytest.mark.federation, pytest.mark.xdist_group("nvflare-deployment")]

NAMES = ("east", "north", "south")
CANARY = "canary-in-a-path"
TRUSTING = 'protocols = ["interpolation"]\ntrust_server = true\nmax_questions = 9\nmax_rounds = 60\n'
# Long enough for something to happen in the middle of it.
LONG = {"protocol": "interpolation", "rounds": 30, "t": 0.5}


def patients(rng, rows, shift):
    ill = rng.random(rows) < 0.4
    measured = rng.normal(size=(rows, 5)) + ill[:, None] * np.linspace(0, 2, 5) + shift
    return pd.DataFrame(measured, columns=[f"m{i}" for i in range(5)]).assign(label=np.where(ill, "ill", "well"))


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    home = tmp_path_factory.mktemp("flare")
    rng = np.random.default_rng(0)
    (home / CANARY).mkdir()
    files = {name: home / CANARY / f"{name}.parquet" for name in NAMES}
    for shift, file in enumerate(files.values()):
        patients(rng, 90, shift / 5).to_parquet(file)
    patients(rng, 200, 0.0).to_parquet(home / "reference.parquet")
    made = Deployment(home, files)
    # The server's own rules would stop a job with code before a site sees it, and a server is not to be trusted here.
    rules = made.kit("server") / "local" / "authorization.json"
    rules.write_text(rules.read_text().replace('"byoc": "none"', '"byoc": "any"'))
    try:
        made.start_all()
        yield made
    finally:
        made.stop_all()


@pytest.fixture
def trusting(federation):
    """The owners trust the server, which may fix t; a site reads its policy for every message."""
    write_policies(federation, TRUSTING)
    yield federation
    write_policies(federation, POLICY)


def write_policies(federation, text):
    for name in NAMES:
        (federation.kit(name) / "local" / "policy.toml").write_text(text)


def read(federation):
    return {name: fb.read(federation.home / CANARY / f"{name}.parquet", label="label") for name in NAMES}


def reference(federation):
    return fb.read(federation.home / "reference.parquet", label="label")


def same(found, expected, columns, names=NAMES):
    ours, theirs = (result.clients.set_index("client").loc[list(names)] for result in (found, expected))
    for column in columns:
        np.testing.assert_allclose(ours[column], theirs[column], atol=1e-9, rtol=0)


def test_the_sketch_protocol_gives_the_numbers_of_the_local_engine_and_keeps_rows_at_home(federation):
    output = federation.home / "sketch"
    asked = {"reference": str(federation.home / "reference.parquet"), "protocol": "sketch", "policy": "coarsen"}
    found = federation.value(output, **asked)
    expected = fb.value(read(federation), reference(federation), protocol=fb.Sketch(policy="coarsen"), seed=0)
    assert set(found.clients["client"]) == set(NAMES)
    same(found, expected, ["distance", "quality"])
    assert found.settings["nodes"] == {name: name for name in NAMES}
    for name in NAMES:
        kit = federation.kit(name)
        (rows,) = kit.glob("results/*/rows.parquet")
        assert len(pd.read_parquet(rows)) == 90
        ledger = Ledger(kit / "state" / name / "ledger.jsonl")
        assert [entry.what for entry in ledger.read(head_needed=True).entries] == ["question", "reply"]
    server = [file for file in federation.kit("server").rglob("*") if file.is_file()]
    seen = b"".join(file.read_bytes() for file in [*server, *output.rglob("*.*"), federation.home / "server.log"])
    assert CANARY.encode() not in seen


def test_the_command_gives_the_numbers_of_the_local_engine_for_cards_also_with_a_site_that_comes_late(
    federation, capsys
):
    federation.kill("east")
    folder, output = str(federation.folder), federation.home / "cards"
    assert main(["federation", "status", folder]) == 0
    late = threading.Timer(5.0, federation.start, ["east"])
    late.start()
    typed = ["federation", "run", folder, "--protocol", "cards", "--policy", "guarded", "--output", str(output)]
    assert main([*typed, "--no-open", "--set", "join-deadline=60"]) == 0, capsys.readouterr()
    late.join()
    expected = fb.value(read(federation), protocol=fb.Cards(policy="guarded"), seed=0)
    same(fb.Valuation.load(output), expected, ["distance", "share", "quality", "wrong_labels"])
    shown = capsys.readouterr().out
    assert str(federation.kit("east") / "startup" / "start.sh") in shown.replace("\n", "")
    assert main(["federation", "doctor", folder]) == 0


def test_a_refused_question_and_a_refused_job_are_named_and_the_others_are_valued(federation):
    policy = federation.kit("east") / "local" / "policy.toml"
    policy.write_text('protocols = ["cards"]\n')
    rights = federation.kit("south") / "local" / "authorization.json"
    usual = rights.read_text()
    restart(federation, "south", rights, usual.replace('"submit_job": "any"', '"submit_job": "none"'))
    output = federation.home / "refused"
    asked = str(federation.home / "reference.parquet")
    found = federation.value(output, reference=asked, protocol="sketch", policy="coarsen", min_group=9)
    policy.write_text(POLICY)
    restart(federation, "south", rights, usual)
    assert list(found.failed) == ["east"]
    assert found.outcomes["east"].status is Status.REFUSED
    assert found.outcomes["east"].has("guard.protocol-not-allowed")
    assert found.settings["absent"] == ["south"]
    assert np.isfinite(found.clients.set_index("client").loc["north", "distance"])
    outcome = json.loads((output / "outcome.json").read_text())
    assert (outcome["status"], outcome["exit_code"], outcome["engine"]) == ("some-failed", 3, "nvflare")


def restart(federation, name, file, content):
    """FLARE reads a site's rules when it starts."""
    federation.kill(name)
    file.write_text(content)
    federation.start(name)
    federation.wait_for(*NAMES)


def test_sites_refuse_jobs_with_code_and_commands_that_look_into_their_files(federation, tmp_path):
    job = tmp_path / "with-code"
    shutil.copytree(federation.folder / "admin" / "transfer" / "fedbary", job)
    (job / "app" / "custom").mkdir()
    (job / "app" / "custom" / "mine.py").write_text("print('anything')\n")
    with session(federation.folder / "admin") as opened:
        sent = opened.submit_job(str(job))
        with pytest.raises(Exception, match=r"(?i)not authori[sz]ed|permission|denied"):
            opened.cat_target("north", file="local/resources.json")
    assert eventually(lambda: nvflare.standing(federation.folder, sent).state == "over", 300)
    why = nvflare.standing(federation.folder, sent).why
    assert all(name in why for name in NAMES)
    assert "BYOC not permitted" in why


def test_a_site_reads_its_files_to_nobody_even_where_flares_own_rules_let_it(federation):
    """A dishonest server goes round these rules."""
    file = federation.kit("north") / "local" / "authorization.json"
    usual = file.read_text()
    restart(federation, "north", file, usual.replace('"none"', '"any"'))
    try:
        with session(federation.folder / "admin") as opened:
            said = opened.cat_target("north", file="local/resources.json")
    except Exception as error:
        said = str(error)
    finally:
        restart(federation, "north", file, usual)
    assert "class_allow_list" not in said
    assert "not authorized" in said.lower()


def test_a_killed_and_a_frozen_site_are_named_the_other_is_valued_and_both_come_back(trusting):
    output = trusting.home / "deserted"
    job = trusting.submit(output, **LONG, timeout=20.0, retries=0)
    wait_for_rounds(trusting, output, 3)
    trusting.kill("south")
    trusting.signal("east", signal.SIGSTOP)
    trusting.wait_until_over(output, job)
    trusting.signal("east", signal.SIGCONT)
    trusting.start_supervised("south")
    found = fb.Valuation.load(output)
    assert set(found.failed) == {"east", "south"}
    for name in ("east", "south"):
        assert found.outcomes[name].status is Status.SILENT
        assert found.outcomes[name].notes[0].code in ("engines.no-answer", "engines.node-unreachable")
    assert np.isfinite(found.clients.set_index("client").loc["north", "distance"])
    trusting.wait_for(*NAMES)


def test_a_supervised_site_that_crashes_is_started_again_by_its_kit(federation):
    (running,) = [pid for pid in federation.processes("south") if "client_train" in command(pid)]
    os.kill(running, signal.SIGKILL)
    assert eventually(lambda: any("client_train" in command(pid) for pid in federation.processes("south")), 300)
    federation.wait_for(*NAMES)


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_a_crash_at_a_site_ends_the_job_for_all_and_the_run_goes_on_in_another(trusting):
    output = trusting.home / "crashed"
    job = trusting.submit(output, **LONG)
    wait_for_rounds(trusting, output, 3)
    (worker,) = [pid for pid in trusting.processes("north") if "worker_process" in command(pid)]
    os.kill(worker, signal.SIGKILL)
    # FLARE's rule, not ours: a process that died and a site that says so.
    assert eventually(lambda: nvflare.standing(trusting.folder, job).state == "over", 300)
    assert "north" in nvflare.standing(trusting.folder, job).why
    found = trusting.value(output, **LONG, resume=True)
    assert events(output, "round-started").count("describe") == 1
    assert set(found.failed) <= {"north"}
    assert np.isfinite(found.clients.set_index("client").loc[["east", "south"], "distance"]).all()


def test_a_killed_server_is_started_again_and_the_run_goes_on_to_the_same_numbers(trusting):
    output = trusting.home / "resumed"
    trusting.submit(output, **LONG)
    wait_for_rounds(trusting, output, 3)
    trusting.kill("server")
    assert not (output / "valuation.json").exists()
    trusting.start("server")
    # The sites were not touched: they come back by themselves. FLARE does not take up the job again, we send it anew.
    trusting.wait_for(*NAMES)
    found = trusting.value(output, **LONG, resume=True)
    assert len(events(output, "run-started")) == 2
    assert events(output, "round-started").count("describe") == 1
    same(found, fb.value(read(trusting), protocol=fb.Interpolation(rounds=30, t=0.5), seed=0), ["distance", "share"])
    assert not found.failed


def wait_for_rounds(federation, output, count):
    enough = eventually(lambda: len(events(output, "round-finished")) >= count, 300)
    assert enough, federation.log("server")[-3000:]


def test_kits_of_another_federation_are_let_in_neither_as_a_site_nor_as_the_coordinator(federation, tmp_path):
    port = federation.plan.port
    other = Deployment(tmp_path, dict.fromkeys(("north", "west"), tmp_path / "none.parquet"))
    for name in ("north", "west"):
        file = other.kit(name) / "startup" / "fed_client.json"
        file.write_text(file.read_text().replace(f":{other.plan.port}", f":{port}"))
    admin = other.folder / "admin" / "startup" / "fed_admin.json"
    admin.write_text(admin.read_text().replace(f'"port": {other.plan.port}', f'"port": {port}'))
    try:
        other.start("north")
        other.start("west")
        with pytest.raises(DataError, check=coded("deploy.not-submitted")):
            nvflare.submit(other.folder, Plan(["north"], port=port, engine="nvflare"), None, {"join-deadline": 1.0})
        # It has tried more than once; why it is not let in, gRPC says only where its own log is on.
        assert eventually(lambda: other.log("west").count("Not Connected] is closed") > 1, 300), other.log("west")[
            -2000:
        ]
        assert "Successfully registered" not in other.log("west")
        assert federation.online() == set(NAMES)
        assert nvflare.status(federation.folder)["other_nodes"] == []
    finally:
        other.stop_all()
