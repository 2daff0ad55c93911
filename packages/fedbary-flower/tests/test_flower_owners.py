"""What owners keep, allow and see of a run over Flower, and what of theirs reaches nobody."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.cli import main
from fedbary.engines.coordinator import RunConfig
from fedbary.guard.ledger import Ledger
from fedbary.guard.owner_files import load_owner_view
from fedbary.notes import Note
from fedbary.valuation.outcome import Status
from fedbary_flower.client_app import app
from fedbary_flower.server_app import valued
from federations import QUICK, files, many, reference_file
from inprocess import InProcessGrid


@pytest.mark.parametrize("count", [5, 100])
def test_owners_without_a_policy_file_send_guarded_cards(tmp_path, count):
    tables, _ = many(count)
    grid = InProcessGrid(app, files(tmp_path, tables))
    config = {"num-nodes": count, "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001}
    found = valued(grid, RunConfig.of(config))
    assert (found.settings["protocol"], found.failed) == ("cards", {})
    expected = fb.value(tables, protocol=fb.Cards(policy="guarded"), seed=0)
    for column in ("distance", "share", "quality", "wrong_labels", "missing"):
        np.testing.assert_allclose(found.clients[column], expected.clients[column], atol=1e-9, rtol=0)
    own = pd.read_parquet(next(tmp_path.glob("s/site-0/results/*/rows.parquet")))
    np.testing.assert_allclose(own["value"], expected.rows("site 0")["value"], atol=1e-9)
    ledger = Ledger(tmp_path / "s" / "site-0" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in ledger.entries] == [
        ("question", "card"), ("reply", "card"), ("reply", "model"), ("reply", "evidence"), ("reply", "flags")
    ]  # fmt: skip


def test_cards_with_epsilon_come_in_the_coordinators_public_coordinates_and_nothing_else_comes(tmp_path):
    tables, reference = many(5, rows=300)
    grid = InProcessGrid(app, files(tmp_path, tables))
    config = {"protocol": "cards", "epsilon": 8.0, "reference": reference_file(tmp_path, reference), "num-nodes": 5}
    found = valued(grid, RunConfig.of({**config, "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001}))
    assert found.failed == {}
    assert np.isfinite(found.clients["distance"]).all()
    ledger = Ledger(tmp_path / "s" / "site-0" / "ledger.jsonl")
    assert ledger.spent() == 8.0
    assert [(entry.what, entry.kind) for entry in ledger.read().entries] == [
        *(("question", "card"), ("reply", "card"), ("free", "model"))
    ]
    assert found.clients["odd_features"].isna().all()
    assert len(list(tmp_path.glob("s/*/results/*/rows.parquet"))) == 5  # the model is used at home


def test_the_owners_policy_refuses_and_its_ledger_remembers(tmp_path):
    tables, reference = many(3)
    nodes = files(tmp_path, tables)
    (tmp_path / "strict.toml").write_text("min_group = 50\n")
    (tmp_path / "open.toml").write_text('protocols = ["sketch", "interpolation"]\nshare_flag_counts = true\n')
    nodes[1000]["policy"], nodes[1001]["policy"] = str(tmp_path / "strict.toml"), str(tmp_path / "open.toml")
    config = {
        "protocol": "sketch",
        "reference": reference_file(tmp_path, reference),
        "num-nodes": 3,
        "timeout": 60.0,
        "poll": 0.001,
    }
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "output": str(tmp_path / "out")}))
    assert found.outcomes["site 0"].status is Status.REFUSED
    assert found.outcomes["site 0"].notes == (Note("guard.min-group", {"asked": 5, "least": 50}),)
    assert list(found.failed) == ["site 0"]
    ledger = Ledger(tmp_path / "s" / "site-1" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in ledger.entries][:2] == [("question", "sketch"), ("reply", "sketch")]
    refused = Ledger(tmp_path / "s" / "site-0" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in refused.entries] == [("refusal", "sketch")]
    config = {"protocol": "interpolation", "num-nodes": 3, "timeout": 60.0, "poll": 0.001}
    again = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "rounds": 2, "output": str(tmp_path / "two")}))
    assert again.outcomes["site 2"].status is Status.REFUSED
    assert again.outcomes["site 2"].has("guard.protocol-not-allowed")  # no file: sketch and cards alone


@pytest.mark.parametrize("protocol", ["sketch", "cards"])
def test_an_owner_has_a_report_of_its_rows_and_can_make_it_again(tmp_path, protocol):
    tables, reference = many(3)
    nodes = files(tmp_path, tables)
    policy = tmp_path / "policy.toml"
    policy.write_text("trust_server = true\nshare_card_with_others = true\n")
    nodes = {node: config | {"policy": str(policy)} for node, config in nodes.items()}
    nodes[1000] |= {"report": True}
    sketched = protocol == "sketch"
    given = {"protocol": "sketch", "reference": reference_file(tmp_path, reference)} if sketched else {}
    given |= {"num-nodes": 3, "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001}
    assert valued(InProcessGrid(app, nodes), RunConfig.of(given)).failed == {}
    (folder,) = tmp_path.glob("s/site-0/results/*")
    target = {"target.npy"} if sketched else set()
    assert {path.name for path in folder.iterdir()} == {
        "owner.json", "report.html", "rows.csv", "rows.parquet", "schema.json", *target
    }  # fmt: skip
    kept = [path for path in (tmp_path / "s").rglob("*") if path.name != "s"]
    assert {oct(path.stat().st_mode & 0o777) for path in kept if path.is_file()} == {"0o600"}
    assert {oct(path.stat().st_mode & 0o777) for path in kept if path.is_dir()} == {"0o700"}
    assert not list(tmp_path.glob("s/site-1/results/*/report.html"))
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert all(said in text for said in ("This report holds rows of", "Where the rows lie"))
    assert ("Stars are points" in text) == sketched
    assert "nothing left it" not in text

    view = load_owner_view(folder)
    assert view.settings["owner"] == "site 0"
    assert not sketched or view.target.shape[1] == view.schema.point_width
    (folder / "report.html").unlink()
    arguments = ["report", str(folder), "--data", str(tmp_path / "data-0.parquet"), "--label", "label"]
    assert main(arguments) == 0
    assert (folder / "report.html").read_text(encoding="utf-8") == text


def test_a_report_that_cannot_be_drawn_does_not_stop_the_run(tmp_path, monkeypatch):
    tables, reference = many(1)
    nodes = {node: config | {"report": True} for node, config in files(tmp_path, tables).items()}

    def fails(*_, **__):
        raise RuntimeError("no ink")

    monkeypatch.setattr(fb.Valuation, "report", fails)
    config = RunConfig.of(
        {
            "protocol": "sketch",
            "reference": reference_file(tmp_path, reference),
            "num-nodes": 1,
            "output": str(tmp_path / "out"),
            "timeout": 60.0,
            "poll": 0.001,
        }
    )
    assert valued(InProcessGrid(app, nodes), config).failed == {}
    (reason,) = tmp_path.glob("s/site-0/results/*/no-report.txt")
    assert reason.read_text() == "RuntimeError: no ink\n"
    assert reason.with_name("rows.csv").is_file()


def test_a_canary_in_a_file_and_in_its_path_reaches_nobody(tmp_path):
    tables, reference = many(4)
    home = tmp_path / "very-secret-canary-folder"
    home.mkdir()
    nodes = files(home, tables)
    frame = pd.read_parquet(nodes[1001]["data-path"]).astype({"label": object})
    frame.loc[0, "x0"] = 987654.321012345
    frame.to_parquet(nodes[1001]["data-path"])
    broken = frame.assign(x1=frame["x1"].astype(object))
    broken.loc[2, "x1"] = "canary-in-a-cell"
    nodes[1002]["data-path"] = str(home / "broken.csv")
    broken.to_csv(nodes[1002]["data-path"], index=False)
    config = {
        "protocol": "sketch",
        "reference": reference_file(tmp_path, reference),
        "num-nodes": 4,
        "output": str(tmp_path / "out"),
        **QUICK,
    }
    grid = InProcessGrid(app, nodes)
    found = valued(grid, RunConfig.of({**config, "timeout": 60.0}))
    found.save(tmp_path / "out")
    assert not found.failed  # a cell that stands out is made like the others, and one that is no number is missing
    seen = b"".join(_everything(reply.content) for reply in grid.received)
    seen += b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file())
    for canary in ("canary", "very-secret", str(tmp_path), "987654.32"):
        assert canary.encode() not in seen
    assert np.float64(987654.321012345).tobytes() not in seen


def _everything(content):
    parts = []
    for record in content.values():
        for key, value in record.items():
            parts.append(str(key).encode() + (value.data if hasattr(value, "data") else str(value).encode()))
    return b"".join(parts)
