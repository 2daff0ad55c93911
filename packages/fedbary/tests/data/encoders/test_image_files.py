"""Images as they lie on a disk: in folders for each class, and named or held by a column of a table."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from codes import coded
from fedbary import columns
from fedbary.data.encoders import encoded
from fedbary.data.formats.cells import Request
from fedbary.data.formats.images import is_image_folder, read_image_folder, with_images
from fedbary.data.reading import Reading
from fedbary.errors import DataError


@pytest.fixture
def site(tmp_path):
    draw = np.random.default_rng(0)
    for label, names in {"cat": ("a.png", "b.JPG"), "dog": ("a.png",)}.items():
        (tmp_path / "oslo" / label).mkdir(parents=True)
        for name in names:
            pixels = draw.integers(0, 256, (8, 8), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "oslo" / label / name)
    (tmp_path / "oslo" / "cat" / ".DS_Store").touch()
    return tmp_path / "oslo"


def test_a_folder_of_classes_is_a_table(site):
    cells = read_image_folder(site, Request())
    assert cells.frame["class"].tolist() == ["cat", "cat", "dog"]
    assert cells.frame.index.tolist() == ["cat/a.png", "cat/b.JPG", "dog/a.png"]
    assert (cells.id, cells.frame.index.name, cells.notes) == ("file", "file", ())
    assert cells.frame["image"].iloc[2] == {"bytes": None, "path": str(site / "dog" / "a.png")}
    assert len(read_image_folder(site, Request(most=2)).frame) == 2
    assert is_image_folder(site)
    assert not is_image_folder(site.parent)
    assert not is_image_folder(site / "cat")


def test_other_files_are_counted_and_a_folder_without_images_is_refused(site, tmp_path):
    (site / "cat" / "notes.txt").touch()
    (note,) = read_image_folder(site, Request()).notes
    assert (note.code, note.facts) == ("encoders.other-files", {"count": 1})
    (tmp_path / "empty" / "class").mkdir(parents=True)
    with pytest.raises(DataError, check=coded("encoders.no-images")):
        read_image_folder(tmp_path / "empty", Request())


def png():
    file = io.BytesIO()
    Image.new("L", (2, 2)).save(file, "PNG")
    return file.getvalue()


def test_paths_are_meant_from_where_the_table_lies(site):
    frame = pd.DataFrame({"scan": ["cat/a.png", None, "dog/a.png"], "age": [1, 2, 3]})
    found = with_images(frame, site)["scan"].tolist()
    assert found[0] == {"bytes": None, "path": str(site / "cat" / "a.png")}
    assert pd.isna(found[1])
    assert frame["scan"][0] == "cat/a.png"
    stored = pd.DataFrame({"scan": [{"bytes": None, "path": "cat/a.png"}, {"bytes": png(), "path": "x.png"}]})
    first, second = with_images(stored, site)["scan"]
    assert first["path"] == str(site / "cat" / "a.png")
    assert second == {"bytes": png(), "path": "x.png"}


@pytest.mark.parametrize(
    "cells", [["no.png"], ["a" * 5000 + ".png"], ["\0.png"], ["cat/a.png", "a cat"], [3.0], ["cat"], [None], [b"x"]]
)
def test_other_columns_stay_as_they_are(cells, site):
    frame = pd.DataFrame({"scan": cells})
    assert with_images(frame, site) is frame


def test_an_agreed_column_of_images_is_read_cell_by_cell(site):
    frame = pd.DataFrame({"scan": ["no.png", "a cat", None], "kind": ["cat/a.png", "cat/a.png", "dog/a.png"]})
    reading = Reading({"scan": columns.Image(), "kind": columns.Category()})
    found = with_images(frame, site, reading)
    assert [cell and cell["path"] for cell in found["scan"][:2]] == [str(site / "no.png"), str(site / "a cat")]
    assert found["kind"].tolist() == frame["kind"].tolist()


def test_only_files_that_are_called_images_are_opened_for_a_column_of_images(site):
    """Another party may say that a column names images, and somebody else may have written its cells."""
    image = site / "cat" / "a.png"
    image.rename(image.with_suffix(".secret"))
    agreed = columns.Image(encoder="pixels:8x8x1")
    cells = [str(image.with_suffix(".secret")), "/proc/kmsg", str(site / "dog" / "a.png")]
    found = encoded(cells, kind="image", name="scan", agreed=agreed, alone=True)
    assert np.isnan(found.block).any(axis=1).tolist() == [True, True, False]
    with pytest.raises(DataError, check=coded("encoders.no-image-file")):
        encoded(cells[:1], kind="image", name="scan", agreed=agreed)
