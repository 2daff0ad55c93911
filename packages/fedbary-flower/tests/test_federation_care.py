"""`add-node`, `rotate-keys`, `doctor`, and the next command that each of them ends with."""

import json
import re
import stat
import tomllib
from pathlib import Path

import pytest
from cryptography import x509

from codes import coded
from fedbary.cli import main
from fedbary.deploy.network import network, opened
from fedbary.deploy.plan import Plan, read_plan
from fedbary.deploy.runs import RUN_KEYS, typed_settings
from fedbary.errors import DataError, SettingsError
from fedbary_flower import inspection
from fedbary_flower import network as flower
from fedbary_flower.setup import create

REPOSITORY = Path(__file__).parents[3]
# An address that nobody listens at, and that answers at once.
NOBODY = 9


@pytest.fixture
def folder(tmp_path):
    return create(tmp_path / "fed", Plan(["north", "south"], port=NOBODY))


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_brings_an_app_with_the_settings_of_the_repositorys(folder):
    ours = tomllib.loads((folder / "app" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    theirs = tomllib.loads((REPOSITORY / "packages/fedbary-flower/app" / "pyproject.toml").read_text())["tool"]["flwr"][
        "app"
    ]["config"]
    simulated = {"dataset", "partition", "clients", "rows"}
    assert ours["config"] == {key: default for key, default in theirs.items() if key not in simulated}
    assert ours["components"]["serverapp"] == "fedbary_flower.server_app:app"


def test_a_typo_in_a_setting_is_guessed_at_and_values_have_their_defaults_type():
    assert typed_settings(["epsilon=0.5", "policy=coarsen", "poll=1"], RUN_KEYS) == {
        "epsilon": 0.5, "policy": "coarsen", "poll": 1.0,
    }  # fmt: skip
    with pytest.raises(SettingsError, check=coded("deploy.unknown-setting")) as caught:
        typed_settings(["epsilonn=1"], RUN_KEYS)
    assert "'epsilon'" in str(caught.value)
    for typed in ("retries=often", "resume=perhaps"):
        with pytest.raises(SettingsError, check=coded("deploy.setting-value")):
            typed_settings([typed], RUN_KEYS)
    with pytest.raises(SettingsError, check=coded("deploy.not-a-setting")):
        typed_settings(["retries"], RUN_KEYS)


def test_every_engine_offers_what_the_commands_ask_for():
    for name in ("create", "steps", "status", "next_step", "submit", "standing", "stop", "run_keys"):
        assert callable(getattr(network("flower"), name))
    with pytest.raises(SettingsError, check=coded("deploy.no-engine")):
        Plan(["a"], engine="flowers")


def test_a_new_node_gets_a_folder_and_nothing_of_the_others_changes(folder, capsys):
    before = files_of(folder)
    assert main(["federation", "add-node", str(folder), "east"]) == 0
    after = files_of(folder)
    assert read_plan(folder).nodes == ["north", "south", "east"]
    assert {path for path in before if before[path] != after[path]} == {"federation.json", "register.sh", "README.md"}
    assert {Path(path).parts[:2] for path in after.keys() - before.keys()} == {("nodes", "east")}
    assert stat.S_IMODE((folder / "nodes/east/key").stat().st_mode) == 0o600
    assert "FEDBARY_PORT:-9502" in (folder / "nodes/east/node-east.sh").read_text()
    said = capsys.readouterr().out
    assert f"Send the folder {folder}/nodes/east to east" in said
    assert said.rstrip().endswith(f"{folder}/server.sh")
    with pytest.raises(SettingsError, check=coded("deploy.node-there")):
        _raised("add-node", folder, "east")


def _raised(command, folder, *words):
    """The error of a command, which `main` would turn into a sentence."""
    from fedbary.cli.commands import federation

    if command == "add-node":
        federation.add_node(folder=folder, names=list(words))
    else:
        federation.rotate_keys(folder=folder, nodes=list(words), server=False)


def test_an_interrupted_addition_goes_on_and_an_owners_own_key_stays(folder, monkeypatch):
    (folder / "nodes" / "east").mkdir()
    (folder / "nodes" / "east" / "key.pub").write_bytes((folder / "nodes/north/key.pub").read_bytes())
    assert main(["federation", "add-node", str(folder), "east"]) == 0
    assert (folder / "nodes/east/key.pub").read_bytes() == (folder / "nodes/north/key.pub").read_bytes()
    assert not (folder / "nodes/east/key").exists()
    monkeypatch.setattr("fedbary_flower.keys.plan_files", _interrupted)
    assert main(["federation", "add-node", str(folder), "west"]) == 130
    assert read_plan(folder).nodes == ["north", "south", "east"]
    monkeypatch.undo()
    key = (folder / "nodes/west/key").read_bytes()
    assert main(["federation", "add-node", str(folder), "west"]) == 0
    assert (folder / "nodes/west/key").read_bytes() == key


def _interrupted(*_):
    raise KeyboardInterrupt


def test_rotating_a_key_that_was_never_registered_needs_no_server(folder, capsys):
    before = files_of(folder)
    assert main(["federation", "rotate-keys", str(folder), "north"]) == 0
    after = files_of(folder)
    assert {path for path in before if before[path] != after[path]} == {"nodes/north/key", "nodes/north/key.pub"}
    assert inspection.key_problem(folder, "north") is None
    said = capsys.readouterr().out
    assert f"Send {folder}/nodes/north/key to north" in said
    assert said.rstrip().endswith(f"fedbary federation doctor {folder}")


def test_a_registered_key_is_only_replaced_where_the_server_can_be_told(folder):
    (folder / "registered").mkdir()
    (folder / "registered" / "north.json").write_text('{"success": true, "node-id": 17}')
    before = files_of(folder)
    with pytest.raises(DataError, check=coded("deploy.server-needed")):
        _raised("rotate-keys", folder, "north")
    assert files_of(folder) == before
    with pytest.raises(SettingsError, check=coded("deploy.no-node")):
        _raised("rotate-keys", folder, "nort")


def test_a_key_is_not_replaced_where_the_server_would_go_on_to_take_the_old_one(folder, monkeypatch):
    """A registration that a full disk cut short is the server's, and no note of it is here."""
    before = files_of(folder)
    (folder / "server" / "superlink.db").touch()
    with pytest.raises(DataError, check=coded("deploy.server-needed")):
        _raised("rotate-keys", folder, "north")
    listed = [{"node-id": "17", "status": "offline"}, {"node-id": "3", "status": "unregistered"}]
    monkeypatch.setattr("fedbary_flower.keys.server_problem", lambda *_: None)
    monkeypatch.setattr("fedbary_flower.keys.flwr", lambda *_: {"nodes": listed})
    with pytest.raises(DataError, check=coded("deploy.key-not-noted")) as caught:
        _raised("rotate-keys", folder, "north")
    assert (caught.value.private["names"], caught.value.private["numbers"]) == ("north", "17")
    (folder / "server" / "superlink.db").unlink()
    assert files_of(folder) == before
    (folder / "registered").mkdir()
    (folder / "registered" / "south.json").write_text('{"success": true, "node-id": 17}')
    assert flower.rotate(folder, read_plan(folder), ["north"], server=False) == ["nodes/north/key"]


def test_the_new_certificate_of_the_server_is_signed_by_the_same_authority(folder, capsys):
    old = files_of(folder)
    assert main(["federation", "rotate-keys", str(folder), "--server"]) == 0
    new = files_of(folder)
    assert {path for path in old if old[path] != new[path]} == {"server/server.key", "server/server.pem"}
    assert inspection.certificate_problem(folder, read_plan(folder)) is None
    server, ca = (x509.load_pem_x509_certificate(new[path]) for path in ("server/server.pem", "ca/ca.crt"))
    server.verify_directly_issued_by(ca)
    assert f"{folder}/server.sh" in capsys.readouterr().out
    (folder / "ca" / "ca.key").unlink()
    with pytest.raises(DataError, check=coded("deploy.no-authority-key")):
        flower.rotate(folder, read_plan(folder), [], server=True)


def test_an_authority_that_ends_sooner_is_made_to_last_with_the_same_key(tmp_path):
    folder = create(tmp_path / "fed", Plan(["north"], port=NOBODY, days=5))
    old = (folder / "ca/ca.crt").read_bytes()
    plan = Plan(["north"], port=NOBODY, days=300)
    assert flower.rotate(folder, plan, [], server=True) == ["nodes/north/ca.crt"]
    assert (folder / "nodes/north/ca.crt").read_bytes() == (folder / "ca/ca.crt").read_bytes() != old
    server = x509.load_pem_x509_certificate((folder / "server/server.pem").read_bytes())
    for authority in (old, (folder / "ca/ca.crt").read_bytes()):
        server.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))


def lines(folder, capsys):
    code = main(["federation", "doctor", str(folder), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return code, {one["what"]: (one["state"], one["words"], one["remedy"]) for one in found}


def test_the_doctor_says_what_to_type(folder, capsys):
    code, found = lines(folder, capsys)
    assert code == 2
    assert {what for what, (state, *_) in found.items() if state == "problem"} == {"server"}
    assert found["server"][2] == f"{folder}/server.sh"
    assert "flwr 1." in found["fedbary-flower"][1]
    assert found["node north"] == ("missing", "whether it is online, only the server knows", "")
    assert main(["federation", "doctor", str(folder)]) == 2
    assert capsys.readouterr().out.rstrip().endswith(f"{folder}/server.sh")


def test_the_doctor_sees_what_does_not_fit(folder, capsys):
    (folder / "nodes/north/key").chmod(0o644)
    (folder / "nodes/south/key.pub").write_bytes((folder / "nodes/north/key.pub").read_bytes())
    (folder / "server/server.key").write_bytes((folder / "ca/ca.key").read_bytes())
    settings = (folder / "flwr/config.toml").read_text()
    (folder / "flwr/config.toml").write_text(settings.replace(str(folder), "/elsewhere"))
    _, found = lines(folder, capsys)
    assert found["secret keys"][::2] == ("problem", f"chmod -R go-rwx {folder}")
    assert found["key of south"] == (
        "problem", "key and key.pub are not a pair", f"fedbary federation rotate-keys {folder} south",
    )  # fmt: skip
    assert found["server's names"][::2] == ("problem", f"fedbary federation rotate-keys {folder} --server")
    assert found["Flower's settings"][0] == "problem"
    (folder / "federation.json").write_text((folder / "federation.json").read_text().replace("127.0.0.1", "localhost2"))
    (folder / "server/server.key").unlink()
    assert lines(folder, capsys)[1]["server's names"][0] == "problem"


def test_the_doctor_sees_certificates_that_end(tmp_path, capsys):
    folder = create(tmp_path / "fed", Plan(["north"], port=NOBODY, days=20))
    state, words, remedy = lines(folder, capsys)[1]["server's certificate"]
    assert (state, words[:17]) == ("missing", "valid for 19 days")
    assert remedy == f"fedbary federation rotate-keys {folder} --server"


def test_the_next_step_depends_on_what_is_there(folder):
    place, plan, net = opened(folder)
    node = {"name": "north", "registered": True, "status": "online"}
    found = {"server": {"answers": False}, "nodes": [node, {**node, "name": "south", "registered": False}]}
    assert net.next_step(place, plan, found).command == f"{folder}/server.sh"
    found["server"]["answers"] = True
    assert net.next_step(place, plan, found).command == f"{folder}/register.sh south"
    found["nodes"][1] |= {"registered": True, "status": "offline"}
    assert net.next_step(place, plan, found).command.startswith(f"{folder}/nodes/south/node-south.sh DATA-FILE")
    found["nodes"][1]["status"] = "online"
    assert net.next_step(place, plan, found) is None


def test_a_new_federation_says_every_step_in_turn(tmp_path, capsys):
    folder = tmp_path / "a fed"
    assert main(["federation", "init", str(folder), "--nodes", "north,south", "--port", str(NOBODY)]) == 0
    commands = re.findall(r"^  ('?[^ #].*)$", capsys.readouterr().out, re.MULTILINE)
    assert [command.split("'")[1].removeprefix(str(folder)) for command in commands] == [
        "/server.sh", "/register.sh", "/nodes/north/node-north.sh", "/nodes/south/node-south.sh", "",
    ]  # fmt: skip
    assert commands[-1].startswith(f"fedbary federation run '{folder}' --reference")
