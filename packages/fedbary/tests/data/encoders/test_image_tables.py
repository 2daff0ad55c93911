"""Tables of images and texts from end to end: the same pictures give the same table, wherever they lie."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

import fedbary as fb
from codes import coded
from fedbary.data.files import read_any_cells
from fedbary.errors import DataError

DIGITS = load_digits()
PICTURES = (DIGITS.images * 15.9).astype(np.uint8)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """Pictures of 8 × 8 pixels in sites/SITE/CLASS/NUMBER.png."""
    folder = tmp_path_factory.mktemp("data") / "sites"
    for place in range(240):
        home = folder / ("north", "south")[place % 2] / str(DIGITS.target[place])
        home.mkdir(parents=True, exist_ok=True)
        Image.fromarray(PICTURES[place]).save(home / f"{place:04}.png")
    return folder


@pytest.fixture
def beside(sites):
    """A table of the pictures of one site: their files, labels and contents."""
    files = sorted((sites / "north").rglob("*.png"))
    return files, [file.parent.name for file in files]


def test_a_folder_of_sites_is_a_federation(sites):
    clients = fb.read_clients(sites, "class")
    assert {name: len(table) for name, table in clients.items()} == {"north": 120, "south": 120}
    north = clients["north"]
    assert north.row_names[0].startswith("0/")
    places = [int(name[2:6]) for name in north.row_names]
    np.testing.assert_array_equal(north.columns["image"], PICTURES[places].reshape(120, -1))
    assert north.labels.tolist() == [str(digit) for digit in DIGITS.target[places]]
    result = fb.value(clients, clients["south"])
    assert result.clients["status"].tolist() == ["ok", "ok"]


def test_one_site_is_one_table_also_by_a_relative_path(sites, monkeypatch):
    monkeypatch.chdir(sites.parent)
    assert list(fb.read_clients("sites/north", "class")) == ["north"]
    table = fb.read("sites/north", "class")
    assert [note.code for note in table.notes] == ["encoders.pixels-guessed"]
    assert table.reading["image"].encoder == "pixels:8x8x1"
    assert sorted(fb.read_clients("sites/*", "class")) == ["north", "south"]


@pytest.mark.parametrize("stored", ["paths", "csv", "bytes", "struct"])
def test_images_of_a_column_are_those_of_a_folder(stored, sites, beside):
    files, labels = beside
    if stored in ("paths", "csv"):
        cells = [str(file.relative_to(sites)) for file in files]
    elif stored == "bytes":
        cells = [file.read_bytes() for file in files]
    else:
        cells = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
    frame = pd.DataFrame({"image": cells, "class": labels})
    path = sites / f"{stored}.table.{'csv' if stored == 'csv' else 'parquet'}"
    frame.to_csv(path, index=False) if stored == "csv" else frame.to_parquet(path)
    try:
        folder, table = fb.read(sites / "north", "class"), fb.read(path, "class")
        np.testing.assert_array_equal(table.columns["image"], folder.columns["image"])
        assert table.reading == folder.reading
        lenient = read_any_cells(path, "class", reading=folder.reading)
        np.testing.assert_array_equal(lenient.columns["image"], folder.columns["image"])
    finally:
        path.unlink()


def test_other_sizes_are_read_as_was_agreed(sites, tmp_path):
    agreed = fb.read(sites / "north", "class").reading
    for label in "01":
        (tmp_path / "large" / label).mkdir(parents=True)
        Image.new("RGB", (64, 48)).save(tmp_path / "large" / label / "photo.jpg")
    table = fb.read(tmp_path / "large", "class", reading=agreed)
    assert table.columns["image"].shape == (2, 64)
    assert table.reading == agreed
    assert fb.read(tmp_path / "large", "class").reading["image"].encoder == "pixels:24x32x3"


def test_a_damaged_picture_is_named_and_with_epsilon_it_is_missing_alone(sites, tmp_path):
    agreed = fb.read(sites / "north", "class").reading
    whole = sorted((sites / "north" / "1").iterdir())[:2]
    for label in "12":
        (tmp_path / "site" / label).mkdir(parents=True)
        (tmp_path / "site" / label / "a.png").write_bytes(whole[0].read_bytes())
    (tmp_path / "site" / "1" / "b.png").write_bytes(whole[1].read_bytes()[:60])
    with pytest.raises(DataError, check=coded("encoders.not-an-image")) as raised:
        fb.read(tmp_path / "site", "class", reading=agreed)
    assert str(tmp_path / "site" / "1" / "b.png") in str(raised.value)
    block = read_any_cells(tmp_path / "site", "class", reading=agreed).columns["image"]
    assert np.isnan(block).any(axis=1).tolist() == [False, True, False]
    np.testing.assert_array_equal(block[0], block[2])


def test_texts_are_encoded_as_asked(tmp_path):
    draw = np.random.default_rng(0)
    words = ["clean", "loud", "dark", "cold", "quiet", "small", "fresh", "rude"]
    remarks = [f"the room was {' and '.join(draw.choice(words, 5))}" for _ in range(60)]
    path = tmp_path / "hotel.csv"
    pd.DataFrame({"remark": remarks, "price": draw.random(60), "y": ["a", "b", "c"] * 20}).to_csv(path, index=False)
    table = fb.read(path, "y", options=fb.ReadOptions(encoder="hashing:32"))
    assert table.columns["remark"].shape == (60, 32)
    assert table.reading["remark"].encoder == "hashing:32"
    lenient = read_any_cells(path, "y", reading=table.reading)
    np.testing.assert_array_equal(lenient.columns["remark"], table.columns["remark"])
    with pytest.raises(DataError, check=coded("encoders.differs")):
        fb.read(path, "y", options=fb.ReadOptions(encoder="hashing:64"), reading=table.reading)
