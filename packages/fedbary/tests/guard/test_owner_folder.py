"""What a node keeps for its owner comes back as it was, and nothing else is taken for it."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_files import is_owner_folder, load_owner_view, owner_view, save_owner_view, save_rows
from fedbary.notes import Note
from fedbary.valuation.rows import RowFacts, RowRules, ScoredRows, row_frame


def test_an_owners_view_comes_back_as_it_was(tmp_path):
    table = fb.Table.from_arrays(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1])
    frame = row_frame(table.row_names, np.arange(6.0), flag=np.arange(6) < 2)
    promise = Note("valuation.flags-measured", {"rate": 0.1})
    rows = ScoredRows(frame, RowFacts(promise, table="f00", moving={"x[1]": (0.5, 2.0)}))
    schema = fb.fit_schema(table)
    view = owner_view("me <b>", rows, {"protocol": "sketch", "fdr": 0.1}, schema, np.ones((3, schema.point_width)))
    again = load_owner_view(save_owner_view(view, tmp_path))
    pd.testing.assert_frame_equal(again.rows("me <b>"), frame)
    assert again.row_facts("me <b>") == rows.facts
    assert again.settings == view.settings == {"protocol": "sketch", "fdr": 0.1, "owner": "me <b>"}
    assert again.schema.fingerprint == schema.fingerprint
    np.testing.assert_array_equal(again.target, view.target)
    assert again.clients["flagged"].tolist() == [2]


@pytest.mark.parametrize("with_reference", [True, False])
def test_the_owner_s_settings_know_whether_there_was_a_reference(tmp_path, with_reference):
    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(30, 2)), [0, 1] * 15)
    asked, rules = fb.Interpolation(support=10, rounds=1), RowRules()
    client = asked.client(table, rules=rules, seed=0)
    reference = table if with_reference else None
    server = asked.server(["me"], reference, asked.space(None), rules=rules, seed=0)
    while tasks := server.tasks():
        server.absorb({"me": client.answer(tasks["me"])})
    config = NodeConfig(home=tmp_path, output=tmp_path, name="me")
    save_rows(client, asked, rules, config, folder=tmp_path / "results", table=None)
    kept = load_owner_view(tmp_path / "results").settings["reference_rows"]
    assert kept == ("unknown" if with_reference else None)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fedbary": "owner", "version": 9, "settings": {"owner": "me"}}'])
def test_a_damaged_or_foreign_file_is_named(tmp_path, text):
    assert not is_owner_folder(tmp_path)
    (tmp_path / "owner.json").write_text(text)
    with pytest.raises(DataError, check=coded("guard.not-an-owner-folder")):
        load_owner_view(tmp_path)
