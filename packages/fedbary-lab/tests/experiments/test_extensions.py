"""Data sets and methods of one's own in the experiments, whatever process computes a cell."""

from dataclasses import dataclass, replace

import pytest

from codes import coded
from fedbary.errors import SettingsError
from fedbary_lab.experiments import EXPERIMENTS, find
from fedbary_lab.experiments.extensions import Extension, cells_of, extended

pytest_plugins = ["plug_ins", "cli_fixtures"]
pytestmark = pytest.mark.usefixtures("own_names")

OWN = """
import fedbary as fb
import fedbary_lab
from sklearn.datasets import make_blobs

def first_worst(table, reference, seed):
    return range(len(table))

fb.datasets.register("blobs", lambda: make_blobs(1000, centers=3, random_state=0))
fedbary_lab.register_row_method("first-worst", first_worst)
fedbary_lab.register_client_method("by-rows", lambda setting: setting.log.counts)
"""


@pytest.fixture
def mine(tmp_path):
    """A file of a researcher."""
    path = tmp_path / "mine.py"
    path.write_text(OWN, encoding="utf-8")
    return path


def run(name, output, file, *, data=(), methods=(), **options):
    """The table, and which cells were computed."""
    computed = []
    experiment = extended(find(name), Extension.read(file, data, methods))
    table = experiment.run(
        output, smoke=True, progress=lambda done: computed.append(done.cell) if done.seconds else None, **options
    )
    return table, computed


@dataclass(frozen=True)
class OfData:
    dataset: str
    seed: int
    rows: int = 10


@dataclass(frozen=True)
class OfBoth:
    dataset: str
    method: str
    seed: int


CELLS = [
    *(OfData(name, seed) for name in ("digits", "mnist") for seed in (0, 1)),
    *(OfBoth("digits", method, seed) for method, seeds in (("ours", 3), ("a", 1), ("b", 1)) for seed in range(seeds)),
]


def test_a_new_data_set_has_the_cells_of_one_that_is_there_of_every_kind():
    assert cells_of(CELLS, "dataset", ["mine"]) == [
        *(OfData("mine", seed) for seed in (0, 1)),
        *(replace(cell, dataset="mine") for cell in CELLS[4:]),
    ]
    assert cells_of(CELLS, "dataset", ["mnist", "mnist"])[:2] == CELLS[2:4]


def test_a_new_method_has_the_usual_number_of_cells_and_one_that_is_there_its_own():
    assert cells_of(CELLS, "method", ["mine", "ours"]) == [OfBoth("digits", "mine", 0), *CELLS[4:7]]
    assert cells_of(CELLS[:4], "method", ["mine"]) == []


def test_every_process_knows_the_file(mine, tmp_path):
    methods = ("first-worst", "oracle", "random")
    table, computed = run("point-removal", tmp_path / "out", mine, data=["blobs"], methods=methods, workers=2)
    assert set(table["dataset"]) == {"blobs"}
    assert list(table["method"]) == list(methods)
    assert table["errors"].tolist() == [0, 0, 0]
    assert len(computed) == 3
    assert (tmp_path / "out" / "point-removal-mine-smoke" / "table.md").is_file()


def test_an_edited_file_is_computed_again_and_another_one_is_not(mine, tmp_path):
    experiment = {"data": ["blobs"], "methods": ["first-worst", "oracle"]}
    table, computed = run("point-removal", tmp_path, mine, **experiment)
    assert len(computed) == 2
    again, computed = run("point-removal", tmp_path, mine, **experiment)
    assert computed == []
    assert again["auroc"].tolist() == table["auroc"].tolist()
    mine.write_text(
        OWN.replace("range(len(table))", "-1.0 * np.arange(len(table))").replace("import f", "import numpy as np, f", 1)
    )
    edited, computed = run("point-removal", tmp_path, mine, **experiment)
    assert len(computed) == 2
    assert edited["auroc"][0] == pytest.approx(1.0 - table["auroc"][0])


def test_own_row_methods_come_along_without_being_named(mine):
    cells = extended(find("detection"), Extension.read(mine)).cells(smoke=True)
    before = find("detection").cells(smoke=True)
    assert cells[: len(before)] == before
    kinds = {type(cell) for cell in before if hasattr(cell, "method")}
    added = [(type(cell), cell.method) for cell in cells[len(before) :]]
    assert set(added) == {(kind, "first-worst") for kind in kinds}
    assert len(added) == len(kinds)


def test_a_client_method_is_in_every_cell_and_others_can_be_left_out(mine, tmp_path):
    pytest.importorskip("torch")
    table, _ = run("five-cases", tmp_path, mine, data=["blobs"], methods=["cgsv", "by-rows"], only="case 4")
    assert {"by-rows", "cgsv", "exactfed", "sketch"} <= set(table["method"])
    assert "gtg" not in set(table["method"])
    equal = table.set_index("method").loc["by-rows"]
    assert [equal[f"share_{place}"] for place in (1, 2, 3)] == pytest.approx([1 / 3] * 3)


def test_without_anything_of_ones_own_an_experiment_is_itself():
    assert extended(find("accuracy"), Extension.read(None)) is find("accuracy")


@pytest.mark.parametrize("name", [experiment.name for experiment in EXPERIMENTS])
def test_an_experiment_has_no_cells_of_other_data_sets(name, mine):
    experiment = extended(find(name), Extension.read(mine, ["blobs"]))
    if not any(hasattr(cell, "dataset") for cell in find(name).cells(smoke=False)):
        with pytest.raises(SettingsError, check=coded("research.nothing-to-choose")):
            experiment.cells(smoke=False)
        return
    for smoke in (True, False):
        cells = experiment.cells(smoke)
        assert {cell.dataset for cell in cells} == {"blobs"}
        assert len(set(cells)) == len(cells)


@pytest.mark.parametrize(
    ("source", "line", "why"),
    [
        ("x = 1\nx / 0\n", 2, "ZeroDivisionError"),
        ("def f(:\n", 1, "SyntaxError"),
        ("raise SystemExit\n", 1, "SystemExit"),
        ("import fedbary as fb\nfb.datasets.register('digits', len)\n", 2, "SettingsError: 'digits' is a name of"),
    ],
)
def test_a_file_that_cannot_be_run_is_named_with_the_line(tmp_path, source, line, why):
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(SettingsError, check=coded("research.extension-failed")) as caught:
        extended(find("accuracy"), Extension.read(path)).cells(smoke=True)
    assert (caught.value.private["file"], caught.value.private["line"]) == (str(path), line)
    assert caught.value.private["why"].startswith(why)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, check=coded("research.extension-unreadable")):
        Extension.read(tmp_path / "nothing.py")


@pytest.mark.parametrize(
    ("name", "chosen", "code"),
    [
        ("accuracy", {"data": ["blops"]}, "data.no-dataset"),
        ("point-removal", {"methods": ["first-wurst"]}, "research.no-such-method"),
        ("five-cases", {"methods": ["first-worst"]}, "research.no-such-method"),
        ("accuracy", {"methods": ["lava"]}, "research.nothing-to-choose"),
    ],
)
def test_names_that_nobody_knows_are_refused(mine, name, chosen, code):
    with pytest.raises(SettingsError, check=coded(code)):
        extended(find(name), Extension.read(mine, **chosen)).cells(smoke=True)


def test_an_installed_package_is_used_without_a_file_and_computed_again_in_another_version(install):
    source = "def blobs():\n    from sklearn.datasets import make_blobs\n    return make_blobs(1000, random_state=0)\n"
    install("blobs_of_mine", source, {"fedbary.datasets": {"packaged": "blobs_of_mine:blobs"}})
    extension = Extension.read(None, ["packaged"])
    assert extension.digest != Extension.read(None, ["digits"]).digest
    assert extended(find("accuracy"), extension).cells(smoke=True)[0].dataset == "packaged"


def test_the_command_line_takes_them(fedbary, mine, tmp_path):
    options = ["--data", "blobs", "--methods", "first-worst", "-o", tmp_path / "out", "--workers", 1]
    code, out, err = fedbary("reproduce", "point-removal", "--smoke", "--with", mine, *options)
    assert code == 0
    assert "| first-worst |" in out
    assert "written to" in err
    assert "point-removal-mine-smoke" in err
