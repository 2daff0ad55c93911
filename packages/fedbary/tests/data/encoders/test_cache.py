"""Costly cells are encoded once: by content, bounded, private, and never in the way."""

import sqlite3
from dataclasses import dataclass, field

import numpy as np
import pytest
from PIL import Image

from codes import coded
from fedbary.data.encoders import encoded, watching_encoders
from fedbary.errors import DataError


@dataclass
class Counting:
    """An encoder that counts what it is asked for."""

    digest: str = "counting"
    name: str = "counting"
    width: int = 2
    batch: int = 4
    separate: bool = False
    costly: bool = True
    asked: list = field(default_factory=list)

    def encode(self, batch):
        self.asked.extend(batch)
        sizes = [one.size if isinstance(one, Image.Image) else (len(one), one.count("e")) for one in batch]
        return np.array(sizes, dtype=float)


@pytest.fixture
def counting(monkeypatch, tmp_path):
    encoder = Counting()
    monkeypatch.setenv("FEDBARY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("fedbary.data.encoders.encoder_of", lambda *_: encoder)
    return encoder


TEXTS = [f"text {k % 7}e" for k in range(20)]


def test_equal_cells_are_encoded_once_and_never_again(counting, tmp_path):
    first = encoded(TEXTS, "counting", kind="text", name="remark").block
    assert sorted(counting.asked) == sorted(set(TEXTS))
    again = encoded(TEXTS[::-1], "counting", kind="text", name="remark").block
    assert len(counting.asked) == 7
    np.testing.assert_array_equal(first, again[::-1])
    np.testing.assert_array_equal(first, [[len(text), text.count("e")] for text in TEXTS])
    folder = tmp_path / "cache" / "encodings"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_another_encoder_and_cells_alone_have_entries_of_their_own(counting):
    encoded(TEXTS, "counting", kind="text", name="remark")
    encoded(TEXTS, "counting", kind="text", name="remark", alone=True)
    assert len(counting.asked) == 14
    counting.digest = "another"
    encoded(TEXTS, "counting", kind="text", name="remark")
    assert len(counting.asked) == 21


def test_images_are_known_by_content_wherever_they_lie(counting, tmp_path):
    for name in ("a.png", "b.png"):
        Image.new("L", (3, 4)).save(tmp_path / name)
    for name in ("a.png", "b.png"):
        found = encoded([tmp_path / name], "counting", kind="image", name="scan").block
        np.testing.assert_array_equal(found, [[3, 4]])
    assert len(counting.asked) == 1
    Image.new("L", (5, 4)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(encoded([tmp_path / "a.png"], "counting", kind="image", name="scan").block, [[5, 4]])


@pytest.mark.parametrize("path", ["nowhere.png", "a" * 5000 + ".png", "\0.png"])
def test_a_file_that_cannot_be_looked_up_is_refused(counting, path):
    with pytest.raises(DataError, check=coded("encoders.no-image-file", "encoders.not-an-image")):
        encoded([path], "counting", kind="image", name="scan")


def test_the_cache_is_bounded(counting, monkeypatch, tmp_path):
    monkeypatch.setattr("fedbary.data.encoders.MOST_BYTES", 100_000)
    for start in range(0, 4000, 200):
        encoded([f"{k}" for k in range(start, start + 200)], "counting", kind="text", name="remark")
    with sqlite3.connect(tmp_path / "cache" / "encodings" / "encoded.sqlite") as connection:
        assert 100 < connection.execute("SELECT count(*) FROM encoded").fetchone()[0] < 2000
    encoded(["3999"], "counting", kind="text", name="remark")
    assert len(counting.asked) == 4000


@pytest.mark.parametrize("damage", ["file", "rows", "folder"])
def test_a_damaged_cache_is_as_none(counting, damage, tmp_path):
    before = encoded(TEXTS, "counting", kind="text", name="remark").block
    file = tmp_path / "cache" / "encodings" / "encoded.sqlite"
    if damage == "file":
        file.write_bytes(b"no database" * 1000)
    elif damage == "rows":
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE encoded SET numbers = 'x'")
    else:
        file.unlink()
        file.parent.rmdir()
        file.parent.write_text("in the way")
    np.testing.assert_array_equal(encoded(TEXTS, "counting", kind="text", name="remark").block, before)


def test_nothing_is_kept_where_the_owner_says_so(counting, monkeypatch, tmp_path):
    monkeypatch.setenv("FEDBARY_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    encoded(TEXTS, "counting", kind="text", name="remark")
    encoded(TEXTS, "counting", kind="text", name="remark")
    assert len(counting.asked) == 40
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_cells_and_ends_at_all_of_them(counting):
    told = []
    with watching_encoders(lambda *progress: told.append(progress)):
        encoded([*TEXTS, None], "counting", kind="text", name="remark")
    assert told[-1] == ("remark", 20, 20)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    encoded(TEXTS, "counting", kind="text", name="remark")
    assert told[-1] == ("remark", 20, 20)
