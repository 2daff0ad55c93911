"""A stored table is the table in memory: the same columns, labels, notes and errors, a part at a time."""

import datetime
import decimal
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.columns import Boolean, Category
from fedbary.data import stored
from fedbary.data.reading import Reading
from fedbary.data.stored import StoredColumns
from fedbary.errors import DataError, FedbaryError

ROWS = 60
RNG = np.random.default_rng(0)


def with_gaps(values, every=7):
    return [None if row % every == 3 else value for row, value in enumerate(values)]


VECTORS = RNG.normal(size=(ROWS, 3))
COLUMNS = {
    "floats": pa.array(RNG.normal(size=ROWS)),
    "floats with gaps": pa.array(with_gaps(RNG.normal(size=ROWS).tolist())),
    "float32": pa.array(RNG.normal(size=ROWS).astype(np.float32)),
    "nan": pa.array(np.where(np.arange(ROWS) % 5, RNG.normal(size=ROWS), np.nan)),
    "whole floats": pa.array(RNG.integers(0, 9, ROWS).astype(float)),
    "beds": pa.array(RNG.integers(0, 5, ROWS)),
    "beds with gaps": pa.array(with_gaps(RNG.integers(0, 5, ROWS).tolist())),
    "uint8": pa.array(RNG.integers(0, 200, ROWS).astype(np.uint8)),
    "huge": pa.array((2**63 + RNG.integers(0, 99, ROWS).astype(np.uint64)).astype(np.uint64)),
    "row numbers": pa.array(np.arange(1, ROWS + 1)),
    "row numbers as floats": pa.array(np.arange(1.0, ROWS + 1)),
    "patient id": pa.array(RNG.integers(0, 10**6, ROWS)),
    "days": pa.array(20200400 + RNG.integers(1, 28, ROWS)),
    "days as floats": pa.array(20200400.0 + RNG.integers(1, 28, ROWS)),
    "truths": pa.array(RNG.random(ROWS) < 0.5),
    "truths with gaps": pa.array(with_gaps((RNG.random(ROWS) < 0.5).tolist())),
    "truths with one gap": pa.array([None, *(RNG.random(ROWS - 1) < 0.5).tolist()]),
    "jobs": pa.array(RNG.choice(["cook", " nurse ", "clerk"], ROWS).tolist()),
    "jobs with gaps": pa.array(with_gaps(RNG.choice(["cook", "nurse"], ROWS).tolist())),
    "categories": pa.array(RNG.choice(["cook", "nurse"], ROWS).tolist()).dictionary_encode(),
    "numbers as text": pa.array([f"{value:.2f}" for value in RNG.normal(size=ROWS)]),
    "decimal commas": pa.array([f"{value:.2f}".replace(".", ",") for value in RNG.normal(size=ROWS)]),
    "yes and no": pa.array(RNG.choice(["yes", "no"], ROWS).tolist()),
    "yes and no with gaps": pa.array([None, *RNG.choice(["yes", "no"], ROWS - 1).tolist()]),
    "names as far as one sees": pa.array([f"{row % 7}{'b' if row > 15 else ''}" for row in range(ROWS)]),
    "marks": pa.array(["n/a" if row % 9 == 2 else f"{row}.5" for row in range(ROWS)]),
    "all different": pa.array([f"Ann {row}" for row in range(ROWS)]),
    "dates": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(int(day)) for day in RNG.integers(0, 400, ROWS)]),
    "moments": pa.array(np.datetime64("2021-03-04T05:06:07") + RNG.integers(0, 10**6, ROWS).astype("m8[s]")),
    "moments of a zone": pa.array(
        [1_600_000_000 + 86_401 * row for row in range(ROWS)], pa.timestamp("s", "Asia/Tokyo")
    ),
    "moments with gaps": pa.array(with_gaps(list(range(ROWS))), pa.timestamp("ns")),
    "dates as text": pa.array([f"{1 + row % 28:02d}/{1 + row % 12:02d}/2020" for row in range(ROWS)]),
    "lengths of time": pa.array(list(range(ROWS)), pa.duration("s")),
    "decimals": pa.array([decimal.Decimal(row).scaleb(-1) for row in range(ROWS)]),
    "vectors": pa.FixedSizeListArray.from_arrays(VECTORS.ravel(), 3),
    "vectors of float32": pa.FixedSizeListArray.from_arrays(VECTORS.ravel().astype(np.float32), 3),
    "lists": pa.array(VECTORS.tolist()),
    "lists with gaps": pa.array(with_gaps(VECTORS.tolist())),
    "lists of whole numbers": pa.array(RNG.integers(0, 9, (ROWS, 2)).tolist()),
    "lists with gaps inside": pa.array([[1.0, None], *VECTORS[1:, :2].tolist()]),
    "empty": pa.array([None] * ROWS, pa.float64()),
    "empty texts": pa.array([None] * ROWS, pa.string()),
    "null": pa.nulls(ROWS),
}
BAD = {
    "infinite": pa.array([np.inf if row in (20, 50) else row + 0.5 for row in range(ROWS)]),
    "too large": pa.array([1e200 if row == 30 else row + 0.5 for row in range(ROWS)]),
    "ragged": pa.array([[1.0] * (2 + (row == 31)) for row in range(ROWS)]),
    "lists of texts": pa.array([["a", "b"]] * ROWS),
    "infinite vectors": pa.array([[0.5, np.inf if row == 44 else 1.0] for row in range(ROWS)]),
    "mixed": pa.array(["x" if row == 33 else str(row) for row in range(ROWS)]),
    "both commas": pa.array(["1,234.5" if row % 2 else "1.234,5" for row in range(ROWS)]),
    "unclear dates": pa.array([f"{1 + row % 12:02d}/{1 + row % 11:02d}/2020" for row in range(ROWS)]),
    "structures": pa.array([{"a": 1}] * ROWS),
}
LABELS = {
    "texts": pa.array(RNG.choice(["yes", "no "], ROWS).tolist()),
    "whole": pa.array(RNG.integers(0, 3, ROWS)),
    "quantities": pa.array(RNG.normal(size=ROWS)),
    "truths": pa.array(RNG.random(ROWS) < 0.5),
    "commas": pa.array(["1,5", "2"] * (ROWS // 2)),
    "categories": pa.array(RNG.choice(["a", "b"], ROWS).tolist()).dictionary_encode(),
    "missing": pa.array(with_gaps(["a"] * ROWS)),
    "mixed": pa.array(["x" if row == 3 else "1" for row in range(ROWS)]),
}


def write(folder, kind, columns):
    table = pa.table(columns)
    path = folder / f"t.{kind}"
    if kind == "folder":
        path.mkdir()
        pq.write_table(table.slice(0, 25), path / "a.parquet", row_group_size=10)
        pq.write_table(table.slice(25), path / "b.parquet")
    elif kind == "feather":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=17)
    else:
        pq.write_table(table, path, row_group_size=17)
    return path


def same(one, other):
    assert one.column_names == other.column_names
    for name in one.columns:
        np.testing.assert_array_equal(one.columns[name], other.columns[name])
        assert one.columns[name].dtype.kind == other.columns[name].dtype.kind
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.labels.dtype == other.labels.dtype
    assert one.row_names.tolist() == other.row_names.tolist()
    assert (one.notes, one.reading, one.origin) == (other.notes, other.reading, other.origin)
    assert (one.label_name, one.id_name) == (other.label_name, other.id_name)


def both(path, **options):
    return (fb.read(path, "label", stored=stored, **options) for stored in (False, True))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_it_is_in_memory(tmp_path, monkeypatch, name):
    path = write(tmp_path, "parquet", {"floats": COLUMNS["floats"], name: COLUMNS[name], "label": LABELS["texts"]})
    memory = fb.read(path, "label", stored=False)
    for sample in (13, 65_536):
        monkeypatch.setattr(stored, "_SAMPLE", sample)
        same(memory, fb.read(path, "label", stored=True))


@pytest.mark.parametrize("kind", ["parquet", "folder", "feather"])
def test_a_table_does_what_it_does_in_memory(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(stored, "_SAMPLE", 13)
    path = write(tmp_path, kind, {**COLUMNS, "label": LABELS["texts"]})

    memory, kept = both(path)

    assert not kept.in_memory
    same(memory, kept)
    assert memory.missing() == kept.missing()
    assert memory.summary() == kept.summary()
    pd.testing.assert_frame_equal(memory.to_frame(), kept.to_frame())
    for rows in (7, 60, 100):
        for one, other in zip(memory.batches(rows), kept.batches(rows), strict=True):
            assert other.in_memory
            same(one, other)
    for chosen in ([], [3], [50, 3, 3, -1], np.arange(ROWS) % 2 == 0):
        same(memory.take(chosen), kept.take(chosen))


@pytest.mark.parametrize("kind", ["parquet", "folder", "feather"])
@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_left_out_as_in_memory(tmp_path, monkeypatch, name, kind):
    monkeypatch.setattr(stored, "_SAMPLE", 13)
    path = write(tmp_path, kind, {"floats": COLUMNS["floats"], name: BAD[name], "label": LABELS["texts"]})
    memory, kept = both(path)
    if name in ("infinite", "too large"):  # missing in both; a stored column of numbers is not gone through to say it
        assert [note.code for note in memory.notes] == ["data.cells-unread"]
        memory = memory.replace(notes=())
    if name == "ragged":  # vectors are looked through a part at a time, and the row is that of its part
        memory, kept = memory.replace(notes=()), kept.replace(notes=())
    same(memory, kept)
    if name not in ("infinite", "too large", "mixed"):
        assert kept.column_names == ("floats",)
        assert [note.code for note in kept.notes] == ["data.column-left-out"] * (name != "ragged")


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_what_they_are_in_memory(tmp_path, name):
    path = write(tmp_path, "parquet", {"floats": COLUMNS["floats"], "label": LABELS[name]})
    try:
        memory = fb.read(path, "label", stored=False)
    except DataError as error:
        with pytest.raises(DataError, check=coded(error.code)):
            fb.read(path, "label", stored=True)
    else:
        kept = fb.read(path, "label", stored=True)
        same(memory, kept)
        assert memory.has_classes == kept.has_classes


def test_options_and_an_agreement_say_what_they_say_in_memory(tmp_path):
    names = ["floats", "beds", "beds with gaps", "numbers as text", "dates as text", "jobs", "patient id", "decimals"]
    path = write(tmp_path, "parquet", {**{name: COLUMNS[name] for name in names}, "label": LABELS["texts"]})
    asked = fb.ReadOptions(
        drop=("jobs",), categories=("beds with gaps",), dates=("dates as text=dmy",), numeric=("patient id",)
    )
    agreed = Reading({"beds": Boolean(), "floats": Category()})

    same(*both(path, options=asked))
    same(*both(path, options=asked, reading=Reading({"floats": Category()})))
    with pytest.raises(DataError, check=coded("data.cell-does-not-fit")):
        list(
            fb.read(
                path, "label", reading=agreed, options=fb.ReadOptions(drop=("dates as text",)), stored=True
            ).batches()
        )


def test_ids_and_clients_are_columns_or_an_index(tmp_path):
    frame = pd.DataFrame(
        {"age": RNG.normal(size=ROWS), "site": ["a"] * ROWS, "label": RNG.integers(0, 2, ROWS)},
        index=pd.Index([f"p{row}" for row in range(ROWS)], name="patient"),
    )
    frame.to_parquet(tmp_path / "index.parquet")
    frame.reset_index().to_parquet(tmp_path / "column.parquet")
    frame.reset_index(drop=True).rename_axis("patient").to_parquet(tmp_path / "counted.parquet")

    for name in ("index", "column", "counted"):
        memory, kept = both(tmp_path / f"{name}.parquet", id="patient", options=fb.ReadOptions(client_column="site"))
        assert kept.column_names == ("age",)
        same(memory, kept)
    same(*both(tmp_path / "index.parquet"))
    frame.reset_index().assign(patient="p").to_parquet(tmp_path / "again.parquet")
    with pytest.raises(DataError, check=coded("data.ids-repeat")):
        fb.read(tmp_path / "again.parquet", "label", id="patient", stored=True)


def test_parts_may_lack_columns_and_be_called_after_values(tmp_path):
    for place in ("oslo", "bergen"):
        folder = tmp_path / "visits" / f"place={place}"
        folder.mkdir(parents=True)
        table = {"age": RNG.normal(size=ROWS), "beds": RNG.integers(0, 5, ROWS), "label": [0, 1] * (ROWS // 2)}
        pq.write_table(pa.table(table).drop_columns([] if place == "oslo" else ["beds"]), folder / "a.parquet")

    memory, kept = both(tmp_path / "visits")

    assert "place" in kept.columns
    same(memory, kept)
    for one, other in zip(memory.batches(50), kept.batches(50), strict=True):
        same(one, other)


def test_a_large_file_stays_where_it_is_and_a_small_one_does_not(tmp_path, monkeypatch):
    columns = {"x": COLUMNS["vectors"], "label": LABELS["texts"]}
    path = write(tmp_path, "parquet", columns)
    assert fb.read(path, "label").in_memory

    monkeypatch.setattr(stored, "MOST_IN_MEMORY", 4 * ROWS - 1)
    assert not fb.read(path, "label").in_memory
    assert not fb.read_clients([path], "label")["t"].in_memory
    assert fb.read(path, "label", most=5).in_memory
    assert fb.read(path, "label", stored=False).in_memory
    assert not fb.read(write(tmp_path, "feather", columns), "label", stored=True).in_memory
    monkeypatch.setattr(stored, "MOST_IN_MEMORY", 40 * ROWS)
    assert fb.read(path, "label").in_memory


def test_many_rows_that_are_taken_stay_in_the_file(tmp_path, monkeypatch):
    names = ("floats", "jobs", "vectors", "truths with one gap", "beds")
    path = write(tmp_path, "parquet", {**{name: COLUMNS[name] for name in names}, "label": LABELS["texts"]})
    memory, kept = both(path)
    monkeypatch.setattr(stored, "MOST_IN_MEMORY", 20)

    some = kept.take(np.arange(ROWS) % 3 > 0)
    fewer = some.take(np.arange(5, 35, 2))

    assert not some.in_memory
    assert not fewer.in_memory
    assert some.take([3, 1, 3, 8]).in_memory
    assert some.take([1, 2]).in_memory
    same(memory.take(np.arange(ROWS) % 3 > 0), some)
    same(memory.take(np.flatnonzero(np.arange(ROWS) % 3 > 0)[np.arange(5, 35, 2)]), fewer)
    assert [len(part) for part in some.batches(12)] == [12, 12, 12, 4]
    for one, other in zip(memory.take(np.arange(ROWS) % 3 > 0).batches(12), some.batches(12), strict=True):
        same(one, other)


def test_images_and_free_text_are_read_into_memory_as_they_are_encoded_once(tmp_path):
    texts = pa.array([f"The patient number {row} slept quite badly." for row in range(ROWS)])
    path = write(tmp_path, "parquet", {"note": texts, "label": LABELS["texts"]})

    assert fb.read(path, "label", stored=True, options=fb.ReadOptions(encoder="hashing")).in_memory


def test_a_column_alone_is_read_and_other_fields_change_without_reading(tmp_path, monkeypatch):
    path = write(tmp_path, "parquet", {"floats": COLUMNS["floats"], "beds": COLUMNS["beds"], "label": LABELS["texts"]})
    table = fb.read(path, "label", stored=True)

    monkeypatch.setattr(StoredColumns, "parts", None)
    renamed = table.replace(origin="north", labels=table.labels[::-1], notes=())

    assert not renamed.in_memory
    assert renamed.labels[0] == table.labels[-1]
    assert set(renamed.columns) == {"floats", "beds"}
    assert "floats" in renamed.columns
    assert "ceilings" not in renamed.columns
    assert renamed.columns["beds"].tolist() == COLUMNS["beds"].to_pylist()
    assert table.replace(columns={"a": np.zeros(ROWS)}).in_memory
    with pytest.raises(DataError, check=coded("data.lengths-differ")):
        table.replace(labels=table.labels[:5])
    with pytest.raises(DataError, check=coded("data.mask-does-not-fit")):
        table.take([True, False])
    with pytest.raises(FedbaryError, check=parameter("rows")):
        next(table.batches(0))


@pytest.mark.parametrize("kind", ["parquet", "folder", "feather"])
@pytest.mark.parametrize("change", ["gone", "other rows", "touched"])
def test_a_file_that_changes_between_passes_is_one_clear_sentence(tmp_path, kind, change):
    columns = {"floats": COLUMNS["floats"], "label": LABELS["texts"]}
    path = write(tmp_path, kind, columns)
    table = fb.read(path, "label", stored=True)
    file = path / "b.parquet" if kind == "folder" else path
    if change == "gone":
        file.unlink()
    elif change == "touched":
        os.utime(file, ns=(0, 0))
    else:
        pq.write_table(pa.table({name: values[:50] for name, values in columns.items()}), file)

    for use in (lambda: list(table.batches()), lambda: table.columns["floats"], lambda: table.take([1])):
        with pytest.raises(DataError, check=coded("data.file-changed")):
            use()


def test_a_file_that_changes_while_it_is_read_is_said_at_the_end_of_it(tmp_path):
    path = write(tmp_path, "parquet", {"floats": COLUMNS["floats"], "label": LABELS["texts"]})
    parts = fb.read(path, "label", stored=True).batches(20)
    next(parts)
    os.utime(path, ns=(0, 0))

    with pytest.raises(DataError, check=coded("data.file-changed")):
        list(parts)


def test_files_that_cannot_be_read_say_why_as_in_memory(tmp_path, monkeypatch):
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"a": [1.5][:0], "label": ["x"][:0]}), tmp_path / "header.parquet")
    pq.write_table(pa.table([[1.5], [2.5], ["x"]], names=["a", "a ", "label"]), tmp_path / "twice.parquet")
    pq.write_table(pa.table({"label": ["x"]}), tmp_path / "alone.parquet")
    for name in (
        "damaged.parquet",
        "empty.parquet",
        "folder",
        "header.parquet",
        "twice.parquet",
        "alone.parquet",
        "no.parquet",
    ):
        codes = set()
        for kept in (False, True):
            with pytest.raises(DataError) as found:
                fb.read(tmp_path / name, "label", stored=kept)
            codes.add(found.value.code)
        assert len(codes) == 1, (name, codes)
    monkeypatch.setattr("fedbary.data.formats.cells.MAX_STORED_ROWS", 10)
    with pytest.raises(DataError, check=coded("formats.too-many-rows")):
        fb.read(write(tmp_path, "parquet", {"a": COLUMNS["floats"], "label": LABELS["texts"]}), "label", stored=True)
