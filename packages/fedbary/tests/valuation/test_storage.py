"""Result folders that were damaged on the way or made by a stranger are refused, and nothing else is raised."""

import json
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, FedbaryError
from fedbary.valuation import storage


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    points = rng.normal(size=(60, 2)) + labels[:, None]
    clients = {name: (points[part], labels[part]) for name, part in (("a", slice(0, 20)), ("b", slice(20, 40)))}
    reference = points[40:], labels[40:]
    played = fb.value(clients, reference, protocol=fb.Cards(worth=True), seed=0)
    # A result with everything that one can have.
    result = replace(fb.value(clients, reference, protocol="sketch", seed=0), scores=played.scores)
    return result.save(tmp_path_factory.mktemp("results") / "saved")


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "result")


PARTS = (
    "valuation.json", "clients.parquet", "history.parquet", "schema.json", "target.npy", "scores.json",
    "rows/a.parquet", "rows/b.parquet",
)  # fmt: skip


def sealed(index):
    """The index as somebody would write it who knows how digests are made."""
    del index["digest"]
    return json.dumps({**index, "digest": storage._digest(index)})


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_was_lost_cut_or_changed_is_named(folder, part):
    file = folder / part
    whole = file.read_bytes()
    damaged = "valuation.result-damaged" if part == "valuation.json" else "valuation.part-damaged"
    rng = random.Random(part)
    for _ in range(10):
        place = rng.randrange(len(whole) - 2)
        for content in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], b""):
            file.write_bytes(content)
            with pytest.raises(DataError, check=coded(damaged, "valuation.other-version")) as spoilt:
                fb.Valuation.load(folder)
            assert spoilt.value.private["file"] == str(file)
    file.unlink()
    lost = "valuation.no-result" if part == "valuation.json" else "valuation.part-missing"
    with pytest.raises(DataError, check=coded(lost)) as missing:
        fb.Valuation.load(folder)
    assert missing.value.private["file"] == part
    file.mkdir()
    with pytest.raises(DataError, check=coded(lost)):
        fb.Valuation.load(folder)


def test_a_number_that_was_changed_in_the_index_is_noticed(folder):
    index = json.loads((folder / "valuation.json").read_text())
    index["settings"]["seed"] += 1
    (folder / "valuation.json").write_text(json.dumps(index))
    with pytest.raises(DataError, check=coded("valuation.result-damaged")):
        fb.Valuation.load(folder)


def test_a_file_that_people_edit_may_change(folder):
    (folder / "clients.csv").write_text("sorted in a spreadsheet")
    assert len(fb.Valuation.load(folder).clients) == 2


@pytest.mark.parametrize("key", ["settings", "notes", "outcomes", "rows", "row_facts", "files"])
def test_a_sealed_index_of_another_shape_is_refused(folder, key):
    index = json.loads((folder / "valuation.json").read_text())
    strange = [7, "x", [3], {"a": 1}, {"a": {"b": []}}, [{"code": []}], "gone"]
    for other in strange:
        changed = {**index, key: other}
        if other == "gone":
            del changed[key]
        (folder / "valuation.json").write_text(sealed(changed))
        try:
            fb.Valuation.load(folder)
        except FedbaryError:
            continue
        assert (key, type(other)) == ("settings", dict)


@pytest.mark.parametrize("outside", ["../../x", "/etc/passwd", "a/b"])
def test_a_file_outside_of_the_folder_is_not_touched(folder, outside):
    index = json.loads((folder / "valuation.json").read_text())
    (folder / "valuation.json").write_text(sealed({**index, "rows": {"a": outside}}))
    with pytest.raises(DataError, check=coded("valuation.file-outside")):
        fb.Valuation.load(folder)


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b"null", b"[]", b'"x"', b"1e999", b'{"version": NaN}', b"\xed\xa0\x80"],
    ids=["nested", "null", "list", "text", "number", "nan", "surrogate"],
)
def test_an_index_that_is_no_index_is_refused(folder, content):
    (folder / "valuation.json").write_bytes(content)
    with pytest.raises(DataError, check=coded("valuation.result-damaged")):
        fb.Valuation.load(folder)
