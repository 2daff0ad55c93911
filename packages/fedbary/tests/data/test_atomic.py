"""A file is whole or not there."""

import numpy as np
import pytest

from fedbary.data.atomic import read_arrays, write_arrays, write_atomically


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


def test_a_damaged_archive_is_a_value_error_whichever_byte_it_was(tmp_path):
    """Flags of encryption, unknown versions and methods, cut members and headers that do not parse among them."""
    path = write_arrays(tmp_path / "state.npz", {"a": np.arange(3.0), "name": np.frombuffer(b"north", np.uint8)})
    whole = path.read_bytes()
    damaged = 0
    for place in range(0, len(whole)):
        content = bytearray(whole)
        content[place] ^= 0x21
        path.write_bytes(content)
        try:
            read_arrays(path)
        except ValueError:
            damaged += 1
    assert damaged > len(whole) / 2
    path.write_bytes(whole)
    assert read_arrays(path)["name"].tobytes() == b"north"
