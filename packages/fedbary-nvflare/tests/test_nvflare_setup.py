"""What `federation init --engine nvflare` writes: kits of FLARE's own provisioner that allow nothing but our jobs."""

import json
import os
import stat
import tomllib

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from codes import coded
from fedbary.deploy.network import network
from fedbary.deploy.plan import Plan, read_plan
from fedbary.errors import DataError, SettingsError
from fedbary.guard.policy import OwnerPolicy
from fedbary_nvflare import control as nvflare_control
from fedbary_nvflare import network as nvflare

PLAN = Plan(["north", "south-2"], port=18643, san=["DNS:fed.example.org"], engine="nvflare")


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    """Made where new files would be open to all, in a folder whose name a careless script would trip over."""
    usual = os.umask(0)
    try:
        return nvflare.create(tmp_path_factory.mktemp("flare") / "$HOME", PLAN)
    finally:
        os.umask(usual)


@pytest.mark.parametrize("name", ["my federation", "it's", "all*"])
def test_a_folder_in_which_flare_could_start_no_job_is_refused(tmp_path, name):
    with pytest.raises(SettingsError, check=coded("deploy.flare-folder")):
        nvflare.create(tmp_path / name, PLAN)
    assert not list(tmp_path.iterdir())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def certificate(file):
    return x509.load_pem_x509_certificate(file.read_bytes())


def test_nothing_secret_can_be_read_by_others_and_the_sites_keys_are_in_their_kits_alone(federation):
    assert all(mode(path) == 0o700 for path in [federation, *federation.rglob("*")] if path.is_dir())
    secret = [path for path in federation.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]
    assert {str(path.relative_to(federation)) for path in secret} == {
        "admin/startup/client.key",
        "nodes/north/startup/client.key",
        "nodes/south-2/startup/client.key",
        "provision/fedbary/state/cert.json",
        "server/startup/server.key",
    }
    assert all(mode(path) == 0o600 for path in secret)
    remembered = json.loads((federation / "provision/fedbary/state/cert.json").read_text())
    assert not {"north", "south-2"} & remembered.keys()


def test_the_federation_is_read_back_and_every_owner_is_told_which_kit_is_theirs(federation):
    assert read_plan(federation) == PLAN
    text = (federation / "README.md").read_text()
    assert "`nodes/north` to north" in text
    assert "`nodes/south-2` to south-2" in text
    assert "@" not in text
    assert network("nvflare") is nvflare


def test_a_kit_holds_nothing_of_the_other_owners(federation):
    files = [path for path in (federation / "nodes" / "north").rglob("*") if path.is_file()]
    assert not any(b"south" in path.read_bytes() for path in files)


def test_sites_allow_two_classes_and_neither_code_nor_commands(federation):
    local = federation / "nodes" / "north" / "local"
    resources = json.loads((local / "resources.json").read_text())
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert resources["class_allow_list"] == [
        "nvflare.collab.runtime.executor.CollabExecutor",
        "fedbary_nvflare.site.Site",
    ]
    assert resources["allow_log_streaming"] is False
    assert "fedbary_nvflare.closed_site.ClosedSite" in {part["path"] for part in resources["components"]}
    (rights,) = json.loads((local / "authorization.json").read_text())["permissions"].values()
    assert {right for right, who in rights.items() if who != "none"} == {"submit_job", "manage_job", "view"}
    assert rights["byoc"] == rights["shell_commands"] == rights["operate"] == "none"


def test_a_new_sites_own_files_name_no_table_yet_and_the_default_policy(federation):
    local = federation / "nodes" / "north" / "local"
    config = tomllib.loads((local / "fedbary.toml").read_text())
    assert config["table"] == "north"
    assert "data-path" not in config
    assert OwnerPolicy.load(local / "policy.toml") == OwnerPolicy()


def test_files_of_the_folder_in_which_a_command_is_typed_are_not_run(federation, tmp_path, monkeypatch):
    """It may be one in which others can write, such as /tmp."""
    mark = tmp_path / "ran"
    for name in ("json", "nvflare", "fedbary"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nvflare_control, "_look_for_server", lambda _: None)
    with pytest.raises(nvflare_control.NoAnswer):
        nvflare_control.flare(federation / "no such", PLAN, "online", patience=-30.0)
    assert not mark.exists()
    before, _, _ = (federation / "server" / "server.sh").read_text().partition("python3 ")
    assert "export PYTHONSAFEPATH=1" in before


def test_the_job_brings_no_code(federation):
    job = federation / "admin" / "transfer" / "fedbary"
    assert {path.name for path in job.rglob("*") if path.is_file()} == {
        "meta.json", "config_fed_client.json", "config_fed_server.json",
    }  # fmt: skip


def test_what_the_coordinator_typed_goes_to_the_server_alone(tmp_path):
    from fedbary_nvflare.job_folder import export

    job = export(tmp_path, {"protocol": "cards", "output": "/a/canary"}, names=["north", "south-2"])
    assert json.loads((job / "meta.json").read_text())["deploy_map"] == {
        "server": ["server"],
        "site": ["north", "south-2"],
    }
    assert [path.name for path in job.rglob("*") if path.is_file() and "canary" in path.read_text()] == [
        "config_fed_server.json"
    ]
    assert not list((job / "site").rglob("config_fed_server.json"))


def test_the_server_keeps_its_jobs_in_its_own_kit(federation):
    text = (federation / "server" / "local" / "resources.json").read_text()
    assert "/tmp/nvflare" not in text
    assert str(federation / "server" / "store" / "jobs") in text


def test_a_later_site_gets_a_kit_of_the_same_authority_and_the_others_keep_theirs(tmp_path):
    folder = nvflare.create(tmp_path / "fed", PLAN)
    before = {file: file.read_bytes() for file in folder.rglob("startup/*") if file.is_file()}
    more = Plan([*PLAN.nodes, "west"], port=PLAN.port, san=PLAN.san, engine="nvflare")
    assert nvflare.add_nodes(folder, more, ["west"])
    assert all(file.read_bytes() == content for file, content in before.items())
    root = certificate(folder / "server" / "startup" / "rootCA.pem")
    certificate(folder / "nodes" / "west" / "startup" / "client.crt").verify_directly_issued_by(root)
    assert read_plan(folder) == more
    assert "nodes/west" in (folder / "README.md").read_text()
    assert not list((folder / "provision").rglob("prod_*"))
    (folder / "provision" / "fedbary" / "state" / "cert.json").unlink()
    with pytest.raises(DataError, check=coded("deploy.no-authority-key")):
        nvflare.add_nodes(folder, more, ["west"])


def test_new_keys_are_for_all_or_for_nobody_and_leave_the_owners_files(tmp_path):
    folder = nvflare.create(tmp_path / "fed", PLAN)
    with pytest.raises(SettingsError, check=coded("deploy.flare-cannot-revoke")):
        nvflare.rotate(folder, PLAN, ["north"], server=False)
    local = folder / "nodes" / "north" / "local" / "fedbary.toml"
    local.write_text('data-path = "/mine.parquet"\n')
    old = certificate(folder / "nodes" / "north" / "startup" / "client.crt")
    assert nvflare.rotate(folder, PLAN, [], server=True) == ["nodes/north/startup", "nodes/south-2/startup"]
    root = certificate(folder / "server" / "startup" / "rootCA.pem")
    certificate(folder / "nodes" / "north" / "startup" / "client.crt").verify_directly_issued_by(root)
    with pytest.raises(InvalidSignature):
        old.verify_directly_issued_by(root)
    assert local.read_text() == 'data-path = "/mine.parquet"\n'


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (Plan(["server"], engine="nvflare"), "deploy.flare-node-name"),
        (Plan(["fed"], host="fed", engine="nvflare"), "deploy.flare-node-name"),
        (Plan(["north"], host="::1", engine="nvflare"), "deploy.flare-host"),
    ],
)
def test_names_that_flare_cannot_take_are_refused_and_nothing_is_left(tmp_path, plan, code):
    with pytest.raises(SettingsError, check=coded(code)):
        nvflare.create(tmp_path / "fed", plan)
    assert not list(tmp_path.iterdir())


def test_before_anything_runs_the_server_is_the_next_step(federation):
    found = nvflare.status(federation)
    assert found["server"]["answers"] is False
    assert {node["status"] for node in found["nodes"]} == {"unknown"}
    assert 300 < found["certificates"]["server"]["days_left"] <= 360
    step = nvflare.next_step(federation, PLAN, found)
    assert step is not None
    assert "server.sh" in step.command
    with pytest.raises(DataError, check=coded("deploy.not-submitted")):
        nvflare.submit(federation, PLAN, None, {})
    with pytest.raises(SettingsError, check=coded("deploy.flare-has-no-apps")):
        nvflare.run_keys(federation, federation)
    assert nvflare.standing(federation, "any").state == "unknown"
    assert not nvflare.stop(federation, "any")
