"""The log: averages and updates by hand, the way to a file and back, and what is refused."""

import io
import zipfile

import numpy as np
import pytest
from training_fixtures import blobs

from codes import coded
from fedbary.errors import DataError
from fedbary_lab.training.fedavg import run
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.models import Logistic
from fedbary_lab.training.training_log import Head, Round, TrainingLog


def small_log(**changes):
    fields = {
        "names": ("ann", "bob", "Zoë"),
        "counts": [1, 3, 4],
        "initial": [0.0, 1.0],
        "rounds": (Round([0, 1], [[4.0, 0.0], [0.0, 4.0]]), Round([2, 0], [[1.0, 1.0], [6.0, 6.0]])),
    }
    return TrainingLog(**(fields | changes))


def test_a_log_filled_by_hand_has_the_averages_and_updates_of_pen_and_paper():
    log = small_log()
    assert log.shares(0) == pytest.approx([0.25, 0.75])
    assert log.global_models == pytest.approx(np.array([[1.0, 3.0], [2.0, 2.0]]))
    assert log.final == pytest.approx([2.0, 2.0])
    assert log.before(0) == pytest.approx([0.0, 1.0])
    assert log.updates(0) == pytest.approx(np.array([[4.0, -1.0], [0.0, 3.0]]))
    assert log.updates(1) == pytest.approx(np.array([[0.0, -2.0], [5.0, 3.0]]))
    assert log.updates(-1) == pytest.approx(log.updates(1))


def test_a_log_comes_back_from_its_file_as_it_was(tmp_path):
    log = run(Logistic(), blobs([5, 9, 7]), FedAvg(rounds=3, clients_per_round=2))
    back = TrainingLog.load(log.save(tmp_path / "run.npz"))
    assert back.names == log.names
    assert back.head == log.head == Head(0, 3, 4, 12)
    assert (back.counts == log.counts).all()
    assert (back.initial == log.initial).all()
    for one, other in zip(back.rounds, log.rounds, strict=True):
        assert (one.selected == other.selected).all()
        assert (one.models == other.models).all()


def test_a_log_without_a_head_is_written_to_exactly_the_path_asked_for(tmp_path):
    path = small_log().save(tmp_path / "log.of.bob")
    assert TrainingLog.load(path).head is None
    assert [file.name for file in tmp_path.iterdir()] == ["log.of.bob"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"names": ("ann", "ann", "bob")}, "log-names"),
        ({"names": (), "counts": []}, "log-names"),
        ({"counts": [1, 2]}, "log-counts"),
        ({"counts": [1, 2, 0]}, "log-counts"),
        ({"counts": [1.0, 2.0, 3.0]}, "log-counts"),
        ({"initial": [[0.0, 1.0]]}, "initial-weights-shape"),
        ({"initial": [0.0, np.nan]}, "log-not-finite"),
        ({"initial": ["a", "b"]}, "weights-not-numbers"),
        ({"initial": [0.0, 1.0, 2.0]}, "round-of-another-model"),
        ({"rounds": ()}, "log-without-rounds"),
        ({"rounds": (Round([3], [[0.0, 0.0]]),)}, "round-selects-nobody"),
        ({"rounds": (Round([-1], [[0.0, 0.0]]),)}, "round-selects-nobody"),
        ({"head": (0, 2, 2, -1)}, "head-outside"),
        ({"head": (0, 1, 1, 2)}, "head-outside"),
    ],
    ids=range(14),
)
def test_bad_logs_are_refused(changes, code):
    with pytest.raises(DataError, check=coded(f"research.{code}")):
        small_log(**changes)


@pytest.mark.parametrize(
    ("selected", "models", "code"),
    [
        ([], np.zeros((0, 2)), "selected-not-positions"),
        ([0.5], [[1.0]], "selected-not-positions"),
        ([1, 1], [[1.0], [2.0]], "selected-twice"),
        ([0, 1], [[1.0, 2.0]], "models-shape"),
        ([0], [1.0, 2.0], "models-shape"),
        ([0], [[np.inf]], "log-not-finite"),
        ([0, 1], [[1.0], [1.0, 2.0]], "weights-not-numbers"),
    ],
    ids=range(7),
)
def test_bad_rounds_are_refused(selected, models, code):
    with pytest.raises(DataError, check=coded(f"research.{code}")):
        Round(selected, models)


def rewritten(path, change):
    """The file at this path with its arrays changed."""
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(path.open("wb"), **arrays)
    return path


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda arrays: arrays.update(fedbary_training_log=np.array(2)), "valuation.other-version"),
        (lambda arrays: arrays.pop("fedbary_training_log"), "research.not-a-training-log"),
        (lambda arrays: arrays.pop("models_1"), "research.not-a-training-log"),
        (lambda arrays: arrays.update(rounds=np.array(10**9)), "research.not-a-training-log"),
        (lambda arrays: arrays.update(initial=np.array([np.nan, 0.0])), "research.log-not-finite"),
        (lambda arrays: arrays.update(head=np.array([1, 2])), "research.not-a-training-log"),
        (lambda arrays: arrays.update(names=np.array([object()])), "research.not-a-training-log"),
    ],
    ids=range(7),
)
def test_a_file_that_was_tampered_with_is_refused_by_name(tmp_path, change, code):
    path = rewritten(small_log().save(tmp_path / "log.npz"), change)
    with pytest.raises(DataError, check=coded(code)) as refused:
        TrainingLog.load(path)
    assert str(path) in str(refused.value)


def test_files_that_are_no_log_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    for name, code in (("text.npz", "not-a-training-log"), ("missing.npz", "no-training-log")):
        with pytest.raises(DataError, check=coded(f"research.{code}")) as refused:
            TrainingLog.load(tmp_path / name)
        assert refused.value.private["file"] == str(tmp_path / name)
    with pytest.raises(DataError, check=coded("research.training-log-unwritable")):
        small_log().save(tmp_path / "no" / "folder.npz")


def test_a_header_that_claims_more_than_the_file_holds_costs_no_memory(tmp_path):
    path = small_log().save(tmp_path / "log.npz")
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra.npy", stream.getvalue())
    with pytest.raises(DataError, check=coded("research.not-a-training-log")):
        TrainingLog.load(path)


def test_a_compressed_file_that_would_fill_the_memory_is_refused(tmp_path):
    path = small_log().save(tmp_path / "log.npz")
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez_compressed(path, **arrays, bomb=np.zeros(10**6))
    with pytest.raises(DataError, check=coded("research.not-a-training-log")):
        TrainingLog.load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = small_log().save(tmp_path / "log.npz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, check=coded("research.not-a-training-log")):
        TrainingLog.load(path)
