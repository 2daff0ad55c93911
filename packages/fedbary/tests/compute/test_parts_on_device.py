"""Rows are moved to a device once if they fit, and are the same rows either way."""

import numpy as np
import pytest

from fedbary.compute.arrays import PartsOnDevice


@pytest.mark.parametrize(("room", "reads"), [(48, 1), (47, 2)])
def test_parts_that_fit_are_read_once(monkeypatch, room, reads):
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    monkeypatch.setattr(TorchArrays, "room", lambda _: room)
    rows, read = np.arange(6.0).reshape(3, 2), []

    def parts():
        read.append(1)
        yield rows[:2]
        yield rows[2:]

    xp = TorchArrays("cpu")
    held = PartsOnDevice(parts, rows.nbytes, xp)
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate([xp.numpy(part) for part in held]), rows)
    assert len(read) == reads
