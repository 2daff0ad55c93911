"""What a refactoring must not change, as text files: ``python tools/freeze.py FOLDER``, then ``diff -r`` two folders.

Odd columns (how each is read: kind, values, notes), messages and replies of seeded runs (scalars, digests of arrays),
cards, screens and JSON of commands, the text of reports. What differs between two runs of the same code (times, drawn
names, folders) is blanked. It uses nothing but public names, so that it runs on both sides of a refactoring.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

os.environ.update(
    OMP_NUM_THREADS="1", POT_BACKEND_DISABLE_PYTORCH="1", FEDBARY_OFFLINE="1", COLUMNS="100", NO_COLOR="1"
)
os.environ.update(TERM="dumb", FEDBARY_NO_BROWSER="1", BROWSER="true")

import numpy as np
import pandas as pd

import fedbary as fb

ROOT = Path(__file__).parents[1]
HOSPITALS = ROOT / "examples" / "hospitals"
SITES = [str(HOSPITALS / f"hospital_{name}.parquet") for name in ("north", "south", "west")]
REFERENCE = str(HOSPITALS / "validation.parquet")
# What is another one in every run: folders, drawn names and digests, times, sizes of files with times in them.
BLANKS = (
    (r"/[\w./-]*(freeze|tmp)[\w./-]*", "<path>"),
    (r"\b[0-9a-f]{12,}\b", "<hex>"),
    (r"of run [0-9a-f]{8}", "of run <hex>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+\d\d:\d\d|Z)?", "<time>"),
    (r"\b\d{1,2} [A-Z][a-z]+ 20\d\d( at \d\d:\d\d| \d\d:\d\d)?", "<time>"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "<time>"),
    (r"\b\d+(\.\d+)? (ms|s|seconds?|minutes?)\b", "<seconds>"),
    (r"time of the answer .*", "time of the answer"),
    (r'"(seconds|wall_seconds|started|finished|elapsed)": [\d.e-]+', r'"\1": 0'),
)


def blanked(text: str) -> str:
    for pattern, instead in BLANKS:
        text = re.sub(pattern, instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def odd_columns() -> Iterator[tuple[str, list[str]]]:
    """Cells as people write them, 40 a column, with more and less that does not belong there."""
    rng = np.random.default_rng(0)

    def some(words: list[str]) -> list[str]:
        return rng.choice(words, 40).tolist()

    days = [np.datetime64("2019-01-05") + int(step) for step in rng.integers(0, 900, 40)]
    parts = [str(day).split("-") for day in days]
    whole = rng.integers(0, 5000, 40).tolist()
    real = rng.normal(20, 900, 40).round(3).tolist()
    pools: dict[str, list[str]] = {
        "whole": [str(one) for one in whole],
        "few whole": [str(one % 4) for one in whole],
        "real": [str(one) for one in real],
        "comma": [str(one).replace(".", ",") for one in real],
        "thousands": [f"{one * 1000:,.2f}" for one in real],
        "german thousands": [f"{one * 1000:,.2f}".translate(str.maketrans(",.", ".,")) for one in real],
        "exponents": [f"{one:.2e}" for one in real],
        "percent": [f"{one % 100:.1f}%" for one in real],
        "money": [f"€ {abs(one):.2f}" for one in real],
        "units": [f"{abs(one):.1f} mg" for one in real],
        "leading zeros": [f"{one:05d}" for one in whole],
        "signs": [f"{one:+.1f}" for one in real],
        "yes no": some(["yes", "no"]),
        "ja nein": some(["Ja", "nein"]),
        "oui non": some(["oui", "non"]),
        "true false": some(["True", "FALSE"]),
        "zero one": some(["0", "1"]),
        "t f": some(["t", "f"]),
        "one boolean": ["yes"] * 40,
        "levels": some(["low", "mid", "high"]),
        "spaces": some([" a", "a ", "b"]),
        "case": some(["Red", "red", "BLUE"]),
        "numbers as names": some(["1", "1.0", "2", "two"]),
        "accents": some(["Zürich", "Genève", "東京"]),
        "many names": [f"name {one}" for one in whole],
        "ids": [f"P{k:04d}" for k in range(40)],
        "counting": [str(k + 1) for k in range(40)],
        "uuids": [hashlib.md5(bytes([k])).hexdigest() for k in range(40)],
        "sentences": [
            f"The patient {k} came back after {one} days and felt a little better than before."
            for k, one in enumerate(whole)
        ],
        "iso": [str(day) for day in days],
        "iso times": [f"{day}T0{k % 10}:15:00" for k, day in enumerate(days)],
        "zoned": [f"{day}T0{k % 10}:15:00+02:00" for k, day in enumerate(days)],
        "dmy": [f"{d}/{m}/{y}" for y, m, d in parts],
        "mdy": [f"{m}/{d}/{y}" for y, m, d in parts],
        "dots": [f"{d}.{m}.{y}" for y, m, d in parts],
        "short years": [f"{d}.{m}.{y[2:]}" for y, m, d in parts],
        "month names": [f"{d} Mar {y}" for y, _, d in parts],
        "years": [y for y, _, _ in parts],
        "compact": ["".join(part) for part in parts],
        "year months": [f"{y}-{m}" for y, m, _ in parts],
        "clock": [f"{k % 24:02d}:{k:02d}" for k in range(40)],
        "ambiguous": [f"0{k % 9 + 1}/0{k % 7 + 1}/2020" for k in range(40)],
        "lists": [f"[{k}, {k + 1}]" for k in range(40)],
        "json": [f'{{"a": {k}}}' for k in range(40)],
        "constant": ["7"] * 40,
        "empty": [""] * 40,
        "infinite": [*map(str, real[:37]), "inf", "-inf", "1e300"],
        "huge": [str(10**k) for k in range(40)],
        "hex": [hex(one) for one in whole],
        "versions": some(["1.2.3", "1.10.0"]),
        "postcodes": [f"{one:04d} AB" for one in whole],
        "phones": [f"+41 44 {one:07d}" for one in whole],
        "roman": some(["I", "II", "IV"]),
        "grades": some(["A+", "B", "C-"]),
        "ranges": some(["0-10", "10-20", ">20"]),
        "below limit": [f"<{one % 9}" if one % 3 == 0 else str(one) for one in whole],
    }
    junk = {
        "": [],
        "gaps": ["", "NA", "?"],
        "one junk": ["n/k"],
        "junk": ["n/k", "see notes", "12 or 13", "??", "error", "#REF!", "tbd"],
    }
    junk["minus"] = ["-999", "-999", "-999", "-"]
    junk["words"] = ["yes", "unknown", "2020-01-01"]
    junk["many"] = [f"bad {k}" for k in range(15)]
    for name, cells in pools.items():
        for what, others in junk.items():
            mixed = list(cells)
            for place, cell in zip(range(1, 40, 2), others, strict=False):
                mixed[place] = cell
            yield f"{name} {what}".strip(), mixed


def read_text(read: Any) -> str:
    try:
        table = read()
    except fb.FedbaryError as error:
        return f"error {error}"
    columns = {n: [str(c.dtype), c.shape, c.tolist()] for n, c in table.columns.items()}
    return "\n".join([table.reading.to_json(), json.dumps(columns, default=str), *map(str, table.notes)])


def columns(folder: Path, scratch: Path) -> None:
    labels = ["a", "b"] * 20
    written, framed = {}, {}
    for name, cells in odd_columns():
        frame = pd.DataFrame({"x": cells, "other": np.arange(40.0) % 7 + 0.5, "y": labels})
        file = scratch / "odd.csv"
        frame.to_csv(file, index=False)
        written[name] = read_text(lambda file=file: fb.read(file, "y"))
        objects = frame.assign(x=[None if cell == "" else cell for cell in cells])
        framed[name] = read_text(lambda objects=objects: fb.Table.from_frame(objects, "y"))
    typed = {
        "int8": np.arange(40, dtype=np.int8),
        "uint64": np.arange(40, dtype=np.uint64),
        "float16": np.linspace(0, 1, 40, dtype=np.float16),
        "bool": np.arange(40) % 3 == 0,
        "datetime": pd.date_range("2020-01-01", periods=40),
        "zoned": pd.date_range("2020-01-01", periods=40, tz="UTC"),
        "category": pd.Categorical(["u", "v"] * 20),
        "ordered": pd.Categorical(["u", "v"] * 20, ordered=True),
        "Int64": pd.array([1, None] * 20, dtype="Int64"),
        "boolean": pd.array([True, None] * 20, dtype="boolean"),
        "string": pd.array(["u", None] * 20, dtype="string"),
        "period": pd.period_range("2020-01", periods=40, freq="M"),
        "timedelta": pd.to_timedelta(np.arange(40), unit="h"),
        "vectors": [[float(k), 1.0] for k in range(40)],
        "mixed": [1, "a", None, 2.5] * 10,
        "decimals": [f"{k}.5" for k in range(40)],
        "bytes": [b"x"] * 40,
        "complex": np.arange(40) * 1j,
        "sparse": pd.arrays.SparseArray([0.0, 1.0] * 20),
        "int gaps": [1, np.nan] * 20,
    }
    for name, values in typed.items():
        frame = pd.DataFrame({"x": values, "other": np.arange(40.0) % 7 + 0.5, "y": labels})
        framed[f"typed {name}"] = read_text(lambda frame=frame: fb.Table.from_frame(frame, "y"))
        try:
            frame.to_parquet(scratch / "typed.parquet")
        except Exception:  # not every type has a column in Parquet
            continue
        for stored in (False, True):
            written[f"parquet {name} {stored}"] = read_text(
                lambda stored=stored: fb.read(scratch / "typed.parquet", "y", stored=stored)
            )
    for kind, found in (("files", written), ("frames", framed)):
        (folder / f"columns-{kind}.txt").write_text(
            "".join(f"## {name}\n{blanked(text)}" for name, text in found.items())
        )


def content(scalars: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    digests = {
        n: f"{a.dtype}{a.shape} {hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()[:10]}"
        for n, a in arrays.items()
    }
    return json.dumps({**scalars, **digests}, indent=1, sort_keys=True, default=str)


class Recording(fb.LocalEngine):
    """Writes down what a run sends and what comes back."""

    lines: list[str]

    def exchange(self, tasks: Any, observer: Any) -> Any:
        answers = super().exchange(tasks, observer)
        for name, message in tasks.items():
            self.lines.append(f"-> {name} {message.kind} {message.round} {content(message.scalars, message.arrays)}")
            answer = answers.get(name)
            if hasattr(answer, "scalars"):
                self.lines.append(f"<- {name} {content(answer.scalars, answer.arrays)}")
            else:
                self.lines.append(f"<- {name} {getattr(answer, 'note', answer)}")
        return answers


def messages(folder: Path) -> None:
    digits = fb.datasets.load("digits")
    five = fb.partitions.dirichlet(digits.train, 4, 1.0, rows=70, seed=1).clients
    five["client_2"], _ = fb.corruptions.flip_labels(five["client_2"], 0.3, seed=2)
    sites = {Path(file).stem: pd.read_parquet(file).drop(columns="patient") for file in SITES}
    options: dict[str, Any] = {"label": "diagnosis"}
    runs: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
        f"{data} {protocol} {policy} {'reference' if reference is not None else 'alone'}": (
            clients,
            reference,
            made,
            more,
        )
        for data, clients, references, more in (
            ("digits", five, (None, digits.test), {}),
            ("sites", sites, (None, pd.read_parquet(REFERENCE).drop(columns="patient")), options),
        )
        for reference in references
        for protocol, policy, made in (
            ("cards", "trusted", fb.Cards()),
            ("cards", "guarded", fb.Cards(policy="guarded")),
            ("sketch", "trusted", fb.Sketch()),
            ("sketch", "coarsen", fb.Sketch(policy="coarsen")),
            ("interpolation", "coarsen", fb.Interpolation(rounds=2, support=20)),
        )
    }
    for name, (clients, reference, protocol, more) in runs.items():
        engine = Recording(workers=1)
        engine.lines = []
        try:
            result = fb.value(clients, reference, protocol=protocol, seed=7, engine=engine, **more)
            engine.lines.append(result.clients.to_csv())
            engine.lines += [str(note) for note in result.notes] if hasattr(result, "notes") else []
            for client in result.clients.index:
                rows = (result.row_tables or {}).get(client)
                if rows is not None:
                    engine.lines.append(f"{client} {hashlib.sha256(rows.frame.to_csv().encode()).hexdigest()[:10]}")
        except fb.FedbaryError as error:
            engine.lines.append(f"error {error}")
        (folder / f"messages-{name.replace(' ', '-')}.txt").write_text(blanked("\n".join(engine.lines)))


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.quiet = 0

    def handle_starttag(self, tag: str, _: Any) -> None:
        self.quiet += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.quiet -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.quiet and data.strip():
            self.words.append(" ".join(data.split()))


def page_text(file: Path) -> str:
    reader = _Text()
    reader.feed(file.read_text(encoding="utf-8"))
    return blanked("\n".join(reader.words))


def screens(folder: Path, scratch: Path) -> None:
    """Commands in an order in which each finds what the ones before it wrote."""
    labelled = ["--label", "diagnosis", "--id", "patient"]
    north, south = SITES[0], SITES[1]
    lines: dict[str, list[str]] = {
        "demo": ["demo", "-o", "demo"],
        "value": ["value", *SITES, *labelled, "--seed", "0", "-o", "out"],
        "value-reference": ["value", *SITES, *labelled, "--reference", REFERENCE, "--seed", "0", "-o", "ref"],
        "value-json": ["value", *SITES, *labelled, "--seed", "0", "-o", "out2", "--json"],
        "value-epsilon": ["value", *SITES, *labelled, "--epsilon", "1", "--seed", "0", "-o", "eps"],
        "value-sketch": [
            "value",
            *SITES,
            *labelled,
            "--reference",
            REFERENCE,
            "--protocol",
            "sketch",
            "--seed",
            "0",
            "-o",
            "sk",
            "--json",
        ],
        "value-csv": [
            "value",
            str(HOSPITALS / "hospital_south.csv"),
            *SITES[::2],
            *labelled,
            "--seed",
            "0",
            "-o",
            "csv",
        ],
        "value-no-label": ["value", *SITES, "-o", "x"],
        "value-wrong-label": ["value", *SITES, "--label", "diagnos", "-o", "x"],
        "value-no-file": ["value", "nothing.csv", "--label", "y", "-o", "x"],
        "value-bad-option": ["value", *SITES, "--labell", "y"],
        "report": ["report", "out", "-o", "out.html"],
        "report-owner": ["report", "out", "--client", "hospital_north", "-o", "north.html"],
        "rows": ["rows", "out", "--client", "hospital_north"],
        "rows-json": ["rows", "ref", "--client", "hospital_west", "--json"],
        "rows-unknown": ["rows", "out", "--client", "nobody"],
        "check": ["check", north, *labelled],
        "check-csv": ["check", str(HOSPITALS / "hospital_south.csv"), *labelled],
        "check-json": ["check", south, *labelled, "--json"],
        "check-reference": ["check", north, *labelled, "--reference", REFERENCE],
        "card": ["card", north, *labelled, "-o", "north.card"],
        "card-south": ["card", south, *labelled, "-o", "south.card"],
        "card-west": ["card", SITES[2], *labelled, "-o", "west.card"],
        "show-card": ["show", "north.card"],
        "show-card-json": ["show", "north.card", "--json"],
        "value-cards": ["value", "north.card", "south.card", "west.card", "-o", "fromcards", "--seed", "0"],
        "value-cards-json": [
            "value",
            "north.card",
            "south.card",
            "west.card",
            "-o",
            "fromcards2",
            "--seed",
            "0",
            "--json",
        ],
        "schema": ["schema", "--help"],
        "ask": [
            "ask",
            "--protocol",
            "sketch",
            "--reference",
            REFERENCE,
            "--label",
            "diagnosis",
            "--seed",
            "0",
            "-o",
            "study",
        ],
        "preview": ["preview", north, *labelled],
        "preview-json": ["preview", north, *labelled, "--json"],
        "policy-init": ["policy", "init", "policy.toml"],
        "policy-check": ["policy", "check", "policy.toml"],
        "ledger": ["ledger", "LEDGER"],
        "ledger-json": ["ledger", "LEDGER", "--json"],
        "doctor-help": ["doctor", "--help"],
        "audit": ["audit", north, *labelled, "--trials", "20", "--seed", "0"],
        "datasets": ["datasets"],
        "watch": ["watch", "out"],
        "federation-init": ["federation", "init", "fed", "--nodes", "north,south", "--host", "127.0.0.1"],
        "federation-status": ["federation", "status", "fed"],
        "version": ["--version"],
        **{
            f"help-{one}": [one, "--help"]
            for one in (
                "value",
                "report",
                "rows",
                "card",
                "ask",
                "answer",
                "show",
                "watch",
                "check",
                "preview",
                "audit",
                "ledger",
                "policy",
                "federation",
            )
        },
    }
    lines["help"] = ["--help"]
    homes = {f"XDG_{kind}_HOME": str(scratch / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")}

    def typed(line: list[str]) -> str:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "fedbary", *line],
            cwd=scratch,
            env={**os.environ, "HOME": str(scratch), **homes},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        text = f"$ fedbary {' '.join(line)}\nexit {ended.returncode}\n{ended.stdout}\n--- stderr\n{ended.stderr}"
        return text.replace(str(ROOT), "<root>")

    for name, line in lines.items():
        if "LEDGER" in line:  # that of the owner who answered most
            ledger = max(scratch.rglob("ledger*.jsonl"), key=lambda one: one.stat().st_size, default="none")
            line[line.index("LEDGER")] = str(ledger)
        text = typed(line)
        if name == "ask":
            question = str(next((scratch / "study").rglob("*.fb"), "none"))
            text += typed(["answer", north, question, *labelled, "-o", "north.answer"])
        if name == "value-epsilon":  # its noise is drawn from the system
            text = re.sub(r"[\d.,–%≤<>-]+", "#", text)
        (folder / f"screen-{name}.txt").write_text(blanked(text))
    for page in (*scratch.glob("*.html"), *scratch.glob("*/report.html")):
        if "eps" not in page.parts[-2]:
            (folder / f"page-{page.parent.name if page.name == 'report.html' else page.stem}.txt").write_text(
                page_text(page)
            )
    for file in (scratch / "out" / "clients.csv", scratch / "ref" / "clients.csv"):
        if file.is_file():
            (folder / f"file-{file.parent.name}-clients.txt").write_text(blanked(file.read_text()))
    (folder / "file-names.txt").write_text(
        "\n".join(sorted(str(f.relative_to(scratch)) for d in ("out", "ref", "demo") for f in (scratch / d).rglob("*")))
    )


if __name__ == "__main__":
    out = Path(sys.argv[1])
    parts = sys.argv[2:] or ["columns", "messages", "screens"]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="freeze") as temporary:
        if "columns" in parts:
            columns(out, Path(temporary))
        if "messages" in parts:
            messages(out)
        if "screens" in parts:
            screens(out, Path(temporary))
