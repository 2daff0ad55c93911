"""Make every picture of README and docs again: `make screenshots`, or `python tools/screenshots.py NAME ...` for some.

Each picture is a real thing: a report of a real run in Debian's Chromium, a real terminal, a stored table of an
experiment. Everything is seeded and made in a temporary folder; only docs/images/ is written.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")

import numpy as np

import fedbary as fb
import pages
import result_pictures
from chromium import QUIET, found

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
HOSTILE = (
    "<script>alert(1)</script>",
    "<a href='https://example.org'>prize</a>",
    "[/oops] [bold]x",
    "=1+1",
    'it\'s "quoted" & %{x} $y$',
    "\u202eمستشفى الشمال",
    "hospital 👩‍🔬 of 🏥",
    "x" * 300,
)


@cache
def clinics() -> tuple[dict[str, fb.Table], fb.Table]:
    """The parties of `fedbary demo`."""
    from fedbary.cli.commands.demo import demo_clinics

    made = demo_clinics(0)
    return made.clients, made.reference


@cache
def demo() -> fb.Valuation:
    clients, reference = clinics()
    return fb.value(clients, reference, seed=0)


def light(shoot: Shoot, folder: Path) -> None:
    shoot(demo().report(folder / "report.html"), "report-light", height=1500)


def dark(shoot: Shoot, folder: Path) -> None:
    shoot(demo().report(folder / "report.html"), "report-dark", height=1500, color_scheme="dark")


def paper(shoot: Shoot, folder: Path) -> None:
    """The first page of the PDF that printing makes."""
    pdf = folder / "report.pdf"
    shoot(demo().report(folder / "report.html"), "", pdf=pdf)
    command = ["pdftoppm", "-png", "-r", "90", "-singlefile", str(pdf), str(IMAGES / "report-print")]
    subprocess.run(command, check=True)  # from Debian's poppler-utils


def images(shoot: Shoot, folder: Path) -> None:
    """Digits, some of them with a wrong label, as their owner sees them."""
    digits = fb.datasets.load("digits").all()
    mine, _ = fb.corruptions.flip_labels(digits.take(np.arange(200)), 0.3, seed=0)
    result = fb.value({"digits": mine}, digits.take(np.arange(200, 1000)), seed=0)
    shoot(result.report(folder / "owner.html", client="digits", table=mine), "owner-images", height=1500)


def owner(shoot: Shoot, folder: Path) -> None:
    sites = ROOT / "examples" / "hospitals"
    clients = fb.read_clients(str(sites / "hospital_*.parquet"), label="diagnosis", id="patient")
    reference = fb.read(sites / "validation.parquet", label="diagnosis", id="patient")
    result = fb.value(clients, reference, seed=0)
    worst = result.ranking()["client"].iloc[-1]
    shoot(result.report(folder / "owner.html", client=worst, table=clients[worst]), "owner", height=2600)


def many(shoot: Shoot, folder: Path) -> None:
    digits = fb.datasets.load("digits").all()
    rng = np.random.default_rng(0)
    clients = {}
    for place in range(100):
        table = digits.take(rng.choice(1000, size=int(rng.integers(40, 120)), replace=False))
        share = max(0.0, rng.normal(0.0, 0.12))
        clients[f"hospital_{place + 1:03}"], _ = fb.corruptions.flip_labels(table, min(share, 0.5), seed=place)
    result = fb.value(clients, digits.take(np.arange(1000, 1797)), seed=0)
    shoot(result.report(folder / "report.html"), "report-100-clients", height=1500)


def hostile(shoot: Shoot, folder: Path) -> None:
    clients, reference = clinics()
    tables = list(clients.values())
    named = {name: tables[place % len(tables)] for place, name in enumerate(HOSTILE)}
    result = fb.value(named, reference, seed=0)
    shoot(result.report(folder / "report.html"), "report-hostile-names", height=1700)


def terminal(shoot: Shoot, folder: Path) -> None:
    """`fedbary demo` as a terminal of 80 columns shows it."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    environment = os.environ | {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    said = subprocess.run(
        [sys.executable, "-P", "-m", "fedbary", "demo", "-o", "fedbary-demo"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=True,
    ).stdout
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text.from_ansi("$ fedbary demo\n" + said))
    page = (
        "<!doctype html><html data-charts='none'><meta charset=utf-8><style>body{{margin:0;padding:20px;"
        "background:#0c0c0c;color:#d6d6d6;font-size:15px}}"
        "pre{{font-family:'DejaVu Sans Mono',monospace;line-height:1.3}}{stylesheet}</style>"
        "<pre><code>{code}</code></pre></html>"
    )
    path = folder / "terminal.html"
    path.write_text(console.export_html(theme=MONOKAI, code_format=page), encoding="utf-8")
    shoot(path, "terminal", width=800, height=1000)


def experiment(name: str) -> Callable[[Shoot, Path], None]:
    """A picture of an experiment, from its stored table."""

    def draw(_: Shoot, __: Path) -> None:
        pages.Site(ROOT).draw(name)

    return draw


def rows_as_points(_: Shoot, __: Path) -> None:
    """The rows of the demo's clinic_d, its flags and the sketch's points, on two directions."""
    from fedbary.views.plots.row_plots import row_points

    result, table = demo(), clinics()[0]["clinic_d"]
    assert result.schema is not None
    points = row_points(result.schema, table, result.rows("clinic_d"), result.target)
    fb.plots.row_map(points).save(IMAGES / "rows-as-points.svg", height=420)


def plan(_: Shoot, __: Path) -> None:
    """A small optimal plan: sixteen rows, seven groups."""
    rng = np.random.default_rng(3)
    rows, groups = rng.normal(0.0, 1.0, (16, 2)), rng.normal([3.5, 0.6], 1.0, (7, 2))
    solved = fb.solve(rows, groups, np.full(16, 1 / 16), np.full(7, 1 / 7))
    fb.plots.transport_plan(rows, groups, solved.plan).save(IMAGES / "plan.svg", width=700, height=360)


def near_and_clean(_: Shoot, __: Path) -> None:
    picture = fb.plots.client_map(demo())
    assert picture is not None
    picture.save(IMAGES / "client-map.svg", height=400)


def row_values(_: Shoot, __: Path) -> None:
    fb.plots.value_histogram(demo().rows("clinic_d")).save(IMAGES / "row-values.svg", height=320)


class Shoot:
    """Opens a page as a user does and takes its picture."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    def __call__(
        self,
        page_at: Path,
        name: str,
        *,
        width: int = 1200,
        height: int = 1200,
        pdf: Path | None = None,
        **context: Any,
    ) -> None:
        page = self._browser.new_page(viewport={"width": width, "height": height}, **{"offline": True} | context)
        page.goto(page_at.as_uri())
        page.wait_for_function("() => document.documentElement.dataset.charts !== undefined")
        page.wait_for_timeout(700)  # fonts and the last of Plotly's transitions
        IMAGES.mkdir(parents=True, exist_ok=True)
        if pdf is None:
            page.screenshot(path=IMAGES / f"{name}.png")
        else:
            page.pdf(path=pdf, format="A4", margin=dict.fromkeys(("top", "right", "bottom", "left"), "14mm"))
        page.close()


PICTURES: dict[str, Callable[[Shoot, Path], None]] = {
    "report-light": light,
    "report-dark": dark,
    "report-print": paper,
    "owner": owner,
    "owner-images": images,
    "report-100-clients": many,
    "report-hostile-names": hostile,
    "terminal": terminal,
    **{name: experiment(name) for name in result_pictures.PICTURES},
    "rows-as-points": rows_as_points,
    "plan": plan,
    "client-map": near_and_clean,
    "row-values": row_values,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"Which: {', '.join(PICTURES)}. Default: all.")
    wanted = parser.parse_args().names or list(PICTURES)
    unknown = sorted(set(wanted) - set(PICTURES))
    if unknown:
        parser.error(f"there is no picture {', '.join(unknown)}; there is {', '.join(PICTURES)}")
    from playwright.sync_api import sync_playwright

    chromium = found()
    os.environ.setdefault("BROWSER_PATH", chromium)  # for the pictures that Plotly draws
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        for name in wanted:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    PICTURES[name](Shoot(browser), Path(folder))
                except pages.NotStoredError as error:
                    print(f"docs/images/{name} is as it was: {error}", flush=True)
                    continue
            print(f"docs/images/{name}", flush=True)


if __name__ == "__main__":
    main()
