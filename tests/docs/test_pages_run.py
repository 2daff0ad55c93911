"""Every command and every line of Python that the pages show works as it stands."""

import contextlib
import io
import re
import shutil

import pandas as pd
import pytest
import shell
from page_blocks import ROOT, RUN, SHOWN, blocks, is_run_elsewhere, pages

HOSPITALS = {"hospital_a": "hospital_south", "hospital_b": "hospital_north", "hospital_c": "hospital_west"}
# Installing, and what needs several machines or a training on Flower. Raise it with a reason only.
MOST_NOT_RUN = 18

RUNNING = [page for page in pages() if not is_run_elsewhere(page) and any(block.is_run for block in blocks(page))]
NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """The folder that page_blocks describes."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "sites").mkdir()
    for copies, name in {**{f"sites/{a}": b for a, b in HOSPITALS.items()}, "validation": "", "test": ""}.items():
        table = pd.read_parquet(ROOT / "examples" / "hospitals" / f"{name or copies}.parquet").drop(columns="patient")
        table.to_parquet(folder / f"{copies}.parquet", index=False)
    sites = {file.stem: pd.read_parquet(file) for file in sorted((folder / "sites").iterdir())}
    pd.concat([table.assign(site=name) for name, table in sites.items()]).to_csv(folder / "all.csv", index=False)
    mine = pd.read_parquet(folder / "sites" / "hospital_a.parquet")
    mine.to_parquet(folder / "mine.parquet", index=False)
    mine.to_csv(folder / "mine.csv", index=False)
    shutil.copy(folder / "validation.parquet", folder / "like-theirs.parquet")
    return folder


@pytest.mark.parametrize("page", RUNNING, ids=[str(page.relative_to(ROOT)) for page in RUNNING])
def test_the_blocks_of_a_page_run(page, tutorial, tmp_path, monkeypatch):
    folder = tmp_path / "page"
    shutil.copytree(tutorial, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("FEDBARY_NO_BROWSER", "1")
    names: dict[str, object] = {}
    said = ""
    for block in blocks(page):
        if block.is_output:
            assert_printed(block, said)
        elif block.is_run:
            said = run_bash(block) if block.language == "bash" else run_python(block, names)


def run_bash(block):
    targets = re.findall(r"^make ([\w-]+)", block.text, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets), block.place
    script = re.sub(r"^make .*$", "", block.text, flags=re.MULTILINE)
    if not script.strip():
        return ""
    code, said = shell.run(script)
    assert code == 0, f"{block.place}: {said[-3000:]}"
    return said


def run_python(block, names):
    if not names:
        names |= known_names()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.text, block.place, "exec"), names)
    return printed.getvalue()


def known_names():
    import fedbary as fb

    return {
        "fb": fb,
        "clients": fb.read_clients("sites/*.parquet", label="diagnosis"),
        "reference": fb.read("validation.parquet", label="diagnosis"),
        "test": fb.read("test.parquet", label="diagnosis"),
    }


def assert_printed(block, said):
    """Every line of the block was printed, in this order."""
    printed = iter(said.splitlines())
    for wanted in block.text.splitlines():
        if wanted.strip() in ("", "…"):
            continue
        assert any(alike(wanted, line) for line in printed), f"{block.place}: not printed: {wanted!r}\n{said}"


def alike(wanted, line):
    numbers = [float(n.replace("−", "-")) for n in NUMBER.findall(wanted)]
    found = [float(n.replace("−", "-")) for n in NUMBER.findall(line)]
    return (
        without_numbers(wanted) == without_numbers(line)
        and len(numbers) == len(found)
        and all(abs(a - b) <= 0.02 * max(abs(a), abs(b)) + 1e-9 for a, b in zip(numbers, found, strict=True))
    )


def without_numbers(line):
    # Bars in a table are as long as their numbers, and rules as long as their columns.
    return " ".join(re.sub(r"[▏▎▍▌▋▊▉█─━]+", "", NUMBER.sub("#", line)).split())


def test_every_block_has_a_language_that_says_whether_it_is_run():
    wrong = [b.place for page in pages() for b in blocks(page) if b.language not in (*RUN, *SHOWN)]
    assert not wrong
    fences = {page: len(re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)) for page in pages()}
    assert {page: 2 * len(list(blocks(page))) for page in pages()} == fences


def test_few_blocks_are_not_run_and_they_say_why():
    left_out = [block for page in pages() for block in blocks(page) if block.note.startswith("not run: ")]
    tests = {path.name for folder in ("tests", "packages/*/tests") for path in ROOT.glob(f"{folder}/**/test_*.py")}
    for block in left_out:
        print(f"{block.place}: {block.note}")
        assert set(re.findall(r"test_\w+\.py", block.note)) <= tests, block.place
    print(f"{len(left_out)} blocks are not run")
    assert len(left_out) <= MOST_NOT_RUN


def test_a_changed_output_is_noticed():
    assert alike("north   4.29  ██████ 44.1 %", "north 4.30 █████ 44.0 %")
    assert not alike("north 4.29", "north 4.9")
    assert not alike("north 4.29", "south 4.29")
