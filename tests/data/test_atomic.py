"""A file is whole or not there."""

import pytest

from fedbary.data.atomic import write_atomically


def test_a_broken_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")

    def half(draft):
        draft.write_text("ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, half)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
