"""A file is whole or not there."""

import io

import numpy as np
import pytest

from fedbary.data.atomic import read_arrays, read_npy, write_arrays, write_atomically


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


@pytest.mark.parametrize(
    "array", [np.arange(3.0), np.float32(2), np.zeros((2, 0)), np.asfortranarray(np.eye(3)), np.array([True])]
)
def test_bytes_of_an_array_are_that_array(array):
    file = io.BytesIO()
    np.save(file, array)
    found = read_npy(file.getvalue())
    assert (found.dtype, found.shape, found.tolist()) == (np.asarray(array).dtype, np.shape(array), array.tolist())
    with pytest.raises(ValueError, match="not as large as it says"):
        read_npy(file.getvalue() + b"\0")


@pytest.mark.parametrize("kind", ["|O", "<f3", "|S8", "<U4", ">b2"])
def test_bytes_of_anything_but_numbers_are_refused(kind):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (1,), }}".encode()
    with pytest.raises(ValueError, match="numbers"):
        read_npy(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8))
