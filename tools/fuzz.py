"""Damaged questions, replies and files: whatever comes from elsewhere is used or refused, and nothing else happens.

``python tools/fuzz.py --count 10000`` tries so many of each target and prints how often each was refused or taken;
the tests run the same targets with a small count. Targets called "fields of" a file take every field of it in turn:
lost, twice, and of every other type, at every depth, sealed again so that no digest ends the case. A failure is an
exception that is no `FedbaryError`, a case that takes longer than two seconds, or memory beyond the limit. ``--target``
and ``--seed`` find a case again.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import io
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")

import numpy as np

import fedbary as fb
from fedbary.cli.commands.show import facts, for_programs
from fedbary.cli.ui.inputs import Study
from fedbary.data.files import read_any_cells
from fedbary.engines.files.message_file import AnswerFiles, FileKind, MessageFile, save_answer, save_question
from fedbary.errors import FedbaryError
from fedbary.guard.ledger import Entry, Ledger
from fedbary.guard.node import STATE, Envelope, LastAnswer, Question, RunState
from fedbary.guard.owner_files import load_owner_view, owner_view, save_owner_view
from fedbary.guard.policy import OwnerPolicy
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.cards.card import check_card
from fedbary.protocols.forms import check_message
from fedbary.protocols.messages import Failure, Message, Reply, injective_digest
from fedbary.protocols.registry import exchanges_of
from fedbary.space.description import Description, describe
from fedbary.space.points import embed
from fedbary.space.schema import Schema
from fedbary.valuation.clients import ClientScores
from fedbary.valuation.rows import RowRules
from field_damage import array_damages, damages, npz, text_of
from mutations import damaged_array, damaged_bytes, damaged_fields, damaged_mapping, damaged_text, pick
from talks import TALKS, halves_of, table, talk

SLOWEST = 2.0
# Beyond what the process has before: one damaged input must not fill a machine.
MOST_MEGABYTES = 1024
FORMATS = ("csv", "tsv", "csv.gz", "csv.zip", "jsonl", "json", "xlsx", "feather", "arrow", "parquet")
REFUSED, TAKEN = "refused", "taken"
Case = Callable[[np.random.Generator], str]


@dataclass
class Report:
    """How the cases of a target ended."""

    target: str
    counts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def line(self) -> str:
        """For people."""
        parts = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        return f"{self.target}: {parts}; slowest {self.slowest:.2f} s; {len(self.failures)} failures"


def fuzz(target: str, count: int, *, seed: int = 0) -> Report:
    """Try so many cases of a target."""
    case, report = TARGETS[target](), Report(target)
    for number in range(seed, seed + count):
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report.counts[case(np.random.default_rng(number))] += 1
        except Exception:
            report.failures.append(f"--target {target} --seed {number} --count 1\n{traceback.format_exc()}")
        took = time.perf_counter() - started
        report.slowest = max(report.slowest, took)
        if took > SLOWEST:
            report.failures.append(f"--target {target} --seed {number} --count 1: {took:.1f} s")
    return report


def _outcome(use: Callable[[], object]) -> str:
    try:
        use()
    except FedbaryError as error:
        str(error), str(error.redacted())
        return REFUSED
    return TAKEN


# --- questions and replies ----------------------------------------------------------------------------


@cache
def _talks() -> dict[str, list[tuple[Message, Reply | Failure]]]:
    heard: dict[str, list[tuple[Message, Reply | Failure]]] = {name: [] for name in TALKS}
    for name, found in heard.items():
        talk(name, heard=found, clients=3)
    return heard


def _questions() -> Case:
    """A node's half: mutated messages, over the wire, by their form, to a client at the right place of its run."""
    asked = {name: [(m, r) for m, r in heard[:: 3 if len(heard) > 3 else 1]] for name, heard in _talks().items()}
    rows = table(1, 40)

    def case(rng: np.random.Generator) -> str:
        name = pick(rng, asked)
        settings = TALKS[name][0]
        at = int(rng.integers(len(asked[name])))
        message = _damaged_message(rng, asked[name][at][0])

        def use() -> None:
            client = settings.client(rows, rules=RowRules(), seed=1)
            for before, _ in asked[name][:at]:
                client.answer(before)
            check_message(exchanges_of(settings.name), settings.name, _over_the_wire(message))
            client.answer(message)
            client.row_values()

        return _outcome(use)

    return case


def _damaged_message(rng: np.random.Generator, message: Message) -> Message:
    scalars, arrays = dict(message.scalars), dict(message.arrays)
    act = rng.random()
    if act < 0.4 and "schema" in scalars:  # what a dishonest server would send: damaged, with the right fingerprint
        try:
            schema = Schema.from_json(scalars["schema"])
            for _ in range(int(rng.integers(1, 3))):
                schema = damaged_fields(rng, schema)
            scalars["schema"] = schema.to_json()
            scalars |= {"fingerprint": schema.fingerprint} if "fingerprint" in scalars else {}
        except Exception:
            scalars = damaged_mapping(rng, scalars)
    elif act < 0.6 and scalars:
        scalars = damaged_mapping(rng, scalars)
    elif arrays:
        names = list(arrays)
        for name in {pick(rng, names) for _ in range(int(rng.integers(1, 3)))}:
            arrays[name] = damaged_array(rng, arrays[name])
        if rng.random() < 0.1:
            arrays = damaged_mapping(rng, arrays)
    kind = message.kind if rng.random() < 0.97 else pick(rng, ["gossip", "", "step\n", "finish"])
    return Message(kind, message.round if rng.random() < 0.95 else -1, scalars, arrays)


def _over_the_wire(message: Message) -> Message:
    """As the codec gives it back; what it cannot even pack did not come over a network."""
    from fedbary.engines.packed import packed_message, unpacked_message
    from fedbary.guard.node import Envelope
    from fedbary_flower.codec import pack, unpack

    try:
        packed = pack(packed_message(message, Envelope("0" * 32)))
    except Exception:
        return message
    return unpacked_message(unpack(packed))[0]


def _replies() -> Case:
    """A server's half: what one client says is mutated, in the middle of a run that then goes on to its result."""
    runs = {name: list(_absorbing(name)) for name in TALKS}

    def case(rng: np.random.Generator) -> str:
        name = pick(rng, runs)
        steps = runs[name]
        at = int(rng.integers(len(steps)))
        server, replies = copy.deepcopy(steps[at][0]), dict(steps[at][1])
        replies["c0"] = _damaged_reply(rng, replies["c0"])
        server.absorb(replies)
        server.so_far()
        for _, later in steps[at + 1 :]:
            if tasks := server.tasks():
                server.absorb({one: later[one] for one in tasks if one in later})
        while tasks := server.tasks():
            server.absorb({})
        result = server.result()
        result.verdict(), str(result.clients), [outcome.text for outcome in result.outcomes.values()]
        assert "c1" not in result.failed or len(steps) > 1
        return TAKEN if result.outcomes["c0"].ok else REFUSED

    return case


def _absorbing(name: str) -> Iterator[tuple[Any, Mapping[str, Reply | Failure]]]:
    """A server before each of its exchanges, and the honest answers."""
    server, halves = copy.deepcopy(halves_of(name))
    while tasks := server.tasks():
        replies = {one: halves[one].answer(message) for one, message in tasks.items()}
        yield copy.deepcopy(server), replies
        server.absorb(replies)


def _damaged_reply(rng: np.random.Generator, reply: Reply | Failure) -> Reply | Failure:
    assert isinstance(reply, Reply)
    scalars, arrays = dict(reply.scalars), dict(reply.arrays)
    if scalars and (not arrays or rng.random() < 0.6):
        scalars = damaged_mapping(rng, scalars)
    if arrays and rng.random() < 0.8:
        name = pick(rng, arrays)
        arrays[name] = damaged_array(rng, arrays[name])
    if rng.random() < 0.05:
        return Reply(pick(rng, [-1, 7, 2**40]), scalars, arrays, reply.notes)
    notes = (Note("schema.lacks-classes", {"classes": pick(rng, ["x", 5, None, ("a",)])}),)
    return Reply(reply.round, scalars, arrays, reply.notes if rng.random() < 0.9 else notes)


def _packed_replies() -> Case:
    """The codec: replies whose records and bytes are damaged, as the server's exchange reads them."""
    from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

    from fedbary.engines.packed import packed_reply, require_answer_to, unpacked_reply
    from fedbary.guard.node import Envelope
    from fedbary_flower.codec import pack, unpack

    asked = Envelope("0" * 32, "start", 0, 1, name="north", flagged=3)
    note = Note("schema.lacks-classes", {"classes": ("a",), "count": 1, "least": 5})
    made = [
        Reply(0, {"rows": 5, "text": "x"}, {"points": np.zeros((3, 2)), "codes": np.arange(3)}, (note,)),
        Failure(Note("data.no-rows")),
    ]

    def case(rng: np.random.Generator) -> str:
        content = pack(packed_reply(pick(rng, made), asked))
        head, scalars = dict(content["fedbary"]), dict(content["scalars"])
        arrays = dict(content["arrays"].items())
        act = rng.random()
        if act < 0.5 and arrays:
            name = pick(rng, arrays)
            one = arrays[name]
            data = damaged_bytes(rng, one.data) if rng.random() < 0.6 else _damaged_header(rng, one.data)
            arrays[name] = Array(one.dtype, one.shape, one.stype, data)
        elif act < 0.8:
            head = damaged_mapping(rng, head)
        else:
            scalars = damaged_mapping(rng, scalars)
        try:
            records = {"fedbary": ConfigRecord(head), "scalars": ConfigRecord(scalars), "arrays": ArrayRecord(arrays)}
        except (TypeError, ValueError, OverflowError):
            return "not sent"
        if rng.random() < 0.1:
            records.pop(pick(rng, records))
        return _outcome(lambda: read(RecordDict(records)))

    def read(records: RecordDict) -> None:
        found, envelope = unpacked_reply(unpack(records))
        require_answer_to(asked, envelope, found)

    return case


def _damaged_header(rng: np.random.Generator, data: bytes) -> bytes:
    """An array that says it is larger, or of another type, than its bytes."""
    old, new = pick(rng, [(b"(3,", b"(9" + b"9" * 11 + b","), (b"<f8", b"|O8"), (b"<f8", b"<f2"), (b"False", b"True ")])
    return data.replace(old, new)


def _descriptions() -> Case:
    honest = describe(table(1), fb.Space()).to_json()
    return lambda rng: _outcome(lambda: Description.from_json(damaged_text(rng, honest)))


def _notes() -> Case:
    honest = notes_to_text((Note("schema.lacks-classes", {"classes": ("a", "b"), "count": 2}), Note("data.no-rows")))

    def case(rng: np.random.Generator) -> str:
        try:
            found = notes_from_text(damaged_text(rng, honest))
        except ValueError:  # what reading a note promises to raise
            return REFUSED
        "; ".join(str(note) + str(note.redacted()) for note in found).encode("utf-8")
        return TAKEN

    return case


# --- files --------------------------------------------------------------------------------------------


def _file(name: str, write: Callable[[Path], object], read: Callable[[Path], object]) -> Callable[[], Case]:
    """A target: one file, damaged in text and bytes, and read again."""

    def target() -> Case:
        folder = Path(tempfile.mkdtemp())
        write(folder / name)
        honest = (folder / name).read_bytes()

        def case(rng: np.random.Generator) -> str:
            (folder / name).write_bytes(_damaged_file(rng, honest))
            return _outcome(lambda: read(folder / name))

        return case

    return target


def _damaged_file(rng: np.random.Generator, honest: bytes) -> bytes:
    if rng.random() < 0.7:  # what is packed is damaged inside, too: a checksum would end every other case
        if honest.startswith(b"\x1f\x8b"):
            return gzip.compress(_damaged_file(rng, gzip.decompress(honest)), mtime=0)
        if honest.startswith(b"PK"):
            return _damaged_member(rng, honest)
    if rng.random() < 0.6:
        try:
            return damaged_text(rng, honest.decode("utf-8")).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            pass
    return damaged_bytes(rng, honest)


def _damaged_member(rng: np.random.Generator, honest: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(honest)) as whole, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as damaged:
        members = {name: whole.read(name) for name in whole.namelist()}
        large = max(members, key=lambda name: len(members[name]))
        chosen = large if rng.random() < 0.6 else pick(rng, members)
        for name, content in members.items():
            damaged.writestr(name, _damaged_file(rng, content) if name == chosen else content)
    return packed.getvalue()


def _folder(write: Callable[[Path], object], read: Callable[[Path], object]) -> Callable[[], Case]:
    """A target: a folder of which one file is damaged."""

    def target() -> Case:
        folder = Path(tempfile.mkdtemp())
        write(folder)
        files = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

        def case(rng: np.random.Generator) -> str:
            path = pick(rng, files)
            if rng.random() < 0.05:
                path.unlink()
            else:
                path.write_bytes(_damaged_file(rng, files[path]))
            try:
                return _outcome(lambda: read(folder))
            finally:
                path.write_bytes(files[path])

        return case

    return target


@cache
def _result() -> fb.Valuation:
    """With everything that a result can have."""
    clients, reference = {f"c{i}": table(i, 40) for i in range(3)}, table(9, 80)
    played = fb.value(clients, reference, protocol=fb.Cards(worth=True), seed=0)
    return replace(fb.value(clients, reference, protocol="sketch", seed=0), scores=played.scores)


def _write_question(path: Path) -> None:
    save_question(_talks()["sketch"][0][0], Envelope("a" * 32, "sketch", step=1), path)


def _write_answer(path: Path) -> None:
    save_answer(_talks()["interpolation"][0][1], Envelope("a" * 32, "start", step=1, name="north"), path)


def _write_card(path: Path) -> None:
    fb.card(table(1, 60), name="north").save(path)


def _write_owner(folder: Path) -> None:
    result = _result()
    rows = result.row_tables["c0"]  # type: ignore[index]
    save_owner_view(owner_view("c0", rows, {"protocol": "sketch"}, result.schema, result.target), folder)


def _write_ledger(path: Path) -> None:
    for _ in range(4):
        Ledger(path).open_question(Entry(protocol="sketch", epsilon=0.5), budget=4.0)
    Ledger(path).head_path.unlink()  # beside which any change is noticed before a line is read


def _table(kind: str) -> Callable[[], Case]:
    """A target: a file with columns of every kind, read whole, or whatever its cells hold."""
    ways: tuple[Callable[[Path], object], ...] = (
        lambda path: fb.read(path, "label", id="id"),
        lambda path: read_any_cells(path, "label", id="id", reading=_reading()),
    )

    def target() -> Case:
        cases = [_file(f"t.{kind}", _write_table, way)() for way in ways]
        return lambda rng: pick(rng, cases)(rng)

    return target


def _check(path: Path) -> None:
    """All that an owner does with a table that may be damaged: look at it, write a page and a corrected copy."""
    found = fb.check(path, "label", id="id", schema=_known_schema())
    found.report(path.with_name("check.html"))
    found.fix(path.with_name("fixed.csv"))


@cache
def _known_schema() -> Schema:
    return fb.fit_schema(fb.Table.from_frame(_frame(), "label", id="id"))


@cache
def _reading() -> fb.Reading:
    return fb.Table.from_frame(_frame(), "label", id="id").reading


def _frame() -> Any:
    import pandas as pd

    made, rng = table(1, 30), np.random.default_rng(0)
    more = {
        "id": [f"p{row}" for row in range(30)],
        "day": pd.date_range("2024-01-31", periods=30).strftime("%d.%m.%Y"),
        "paid": [f"{row},5 €" for row in range(30)],
        "zip": [f"0{row:04}" for row in rng.integers(0, 9999, 30)],
        "smokes": rng.choice(["yes", "no"], 30),
    }
    return pd.DataFrame({**more, **made.columns, "label": made.labels})


def _write_table(path: Path) -> None:
    import pyarrow as pa

    frame, suffix = _frame(), path.suffix
    if ".csv" in path.suffixes:
        frame.to_csv(path, index=False, encoding="cp1252", sep=";")
    elif suffix in (".jsonl", ".json"):
        frame.to_json(path, orient="records", lines=suffix == ".jsonl")
    elif suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, pa.Schema.from_pandas(frame)) as stream:
            stream.write_table(pa.Table.from_pandas(frame))
    elif suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    else:
        writers = {".xlsx": frame.to_excel, ".feather": frame.to_feather, ".parquet": frame.to_parquet}
        writers[suffix](path, **({"index": False} if suffix == ".xlsx" else {}))


def _write_parts(folder: Path) -> None:
    for year, part in enumerate((_frame()[:15], _frame()[15:]), start=2023):
        (folder / f"year={year}").mkdir()
        part.to_parquet(folder / f"year={year}" / "part-0.parquet")


# --- every field of a file ----------------------------------------------------------------------------


def _in_turn(variants: list[Callable[[], bytes]], name: str, read: Callable[[Path], object]) -> Case:
    """A case takes the variant of its number; beyond the last one they begin again."""
    folder = Path(tempfile.mkdtemp())

    def case(rng: np.random.Generator) -> str:
        number = int(rng.bit_generator.seed_seq.entropy)  # type: ignore[attr-defined]
        # A stride without common factor, so that a few cases are of all fields.
        written = variants[number * 7919 % len(variants)]()
        (folder / name).write_bytes(written)
        return _outcome(lambda: read(folder / name))

    return case


def _fields_of_message(name: str, write: Callable[[Path], object], read: Callable[[Path], object]) -> Case:
    """A question, answer, card or model, sealed again after each damage."""
    place = Path(tempfile.mkdtemp()) / name
    write(place)
    honest = MessageFile.load(place)
    content = {"head": dict(honest.packed.head), "scalars": dict(honest.packed.scalars)}
    arrays = dict(honest.packed.arrays)
    # What stands before the digest is damaged as well, and then is not sealed.
    whole = {"fedbary": str(honest.kind), "version": 1, "digest": honest.digest, **content}

    def sealed(found: Any, members: list[tuple[str, Any]]) -> bytes:
        closed = text_of(found)
        try:
            plain = {f"head {key}": value for key, value in dict.items(closed["head"])}
            plain |= {f"scalar {key}": value for key, value in dict.items(closed["scalars"])}
            own = {key: value for key, value in members if isinstance(value, np.ndarray)}
            digest = injective_digest(str(honest.kind), plain, own)
        except Exception:
            digest = "0" * 64
        head = _json({"fedbary": str(honest.kind), "version": 1, "digest": digest, **_fields(closed)})
        return npz([("fedbary", np.frombuffer(head, np.uint8)), *((f"array.{key}", one) for key, one in members)])

    listed = list(arrays.items())
    variants: list[Callable[[], bytes]] = [lambda one=one: sealed(one(), listed) for one in damages(content)]
    variants += [
        lambda one=one: npz([("fedbary", np.frombuffer(_json(text_of(one())), np.uint8)), *_named(listed)])
        for one in damages({key: whole[key] for key in ("fedbary", "version", "digest")} | content)[:160]
    ]
    for key, array in listed:
        rest = [(other, one) for other, one in listed if other != key]
        variants.append(lambda rest=rest: sealed(content, rest))
        variants.append(lambda key=key, array=array: sealed(content, [*listed, (key, array)]))
        variants.append(lambda key=key, array=array: sealed(content, [*listed, (f"{key}.more", array)]))
        variants += [
            lambda rest=rest, key=key, one=one: sealed(content, [*rest, (key, one())]) for one in array_damages(array)
        ]
    return _in_turn(variants, name, read)


def _named(members: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(f"array.{key}", one) for key, one in members]


def _fields(closed: Any) -> Any:
    return closed if isinstance(closed, dict) else {"head": closed, "scalars": closed}


def _json(content: Any) -> bytes:
    return json.dumps(content).encode("utf-8", "surrogatepass")


def _fields_of_json(name: str, write: Callable[[Path], object], read: Callable[[Path], object]) -> Case:
    place = Path(tempfile.mkdtemp()) / name
    write(place)
    content = json.loads(place.read_text(encoding="utf-8"))
    return _in_turn([lambda one=one: _json(text_of(one())) for one in damages(content)], name, read)


def _fields_of_arrays(name: str, write: Callable[[Path], object], read: Callable[[Path], object]) -> Case:
    """A state: every array, and every field of those that are texts."""
    place = Path(tempfile.mkdtemp()) / name
    write(place)
    with np.load(place) as file:
        arrays = dict(file)
    variants: list[Callable[[], bytes]] = []
    for key, array in arrays.items():
        rest = [(other, one) for other, one in arrays.items() if other != key]
        variants.append(lambda rest=rest: npz(rest))
        variants.append(lambda rest=rest, key=key, array=array: npz([*rest, (key, array), (key, array)]))
        variants += [lambda rest=rest, key=key, one=one: npz([*rest, (key, one())]) for one in array_damages(array)]
        if array.dtype == np.uint8 and array.tobytes()[:1] in (b"{", b"["):
            variants += [
                lambda rest=rest, key=key, one=one: npz([*rest, (key, np.frombuffer(_json(text_of(one())), np.uint8))])
                for one in damages(json.loads(array.tobytes()))
            ]
    return _in_turn(variants, name, read)


def _shown(path: Path) -> MessageFile:
    """As `fedbary show` reads it."""
    file = MessageFile.load(path)
    str(facts(file)), for_programs(file)
    return file


def _use_card(path: Path) -> None:
    """As `fedbary value` does, among honest ones: a card that is read takes part, or fails alone."""
    _shown(path)
    check_card(fb.CardFile.load(path).card)
    result = fb.value([*_honest_cards(), path], engine=fb.FilesEngine(path.parent / "out"), seed=0)
    result.verdict(), [outcome.text for outcome in result.outcomes.values()]
    assert set(result.failed) <= {path.stem}


@cache
def _honest_cards() -> list[Path]:
    folder = Path(tempfile.mkdtemp())
    return [fb.card(table(at, 60), name=f"c{at}").save(folder / f"c{at}.card") for at in range(3)]


def _asking(name: str) -> tuple[Message, Envelope]:
    settings = Question(TALKS[name][0], RowRules(), {}).to_json()
    message = _talks()[name][0][0]
    return message, Envelope("a" * 32, message.kind, message.round, 1, settings=settings)


def _use_question(path: Path) -> None:
    """As `fedbary answer` does."""
    message, envelope = _shown(path).message()
    asked = Question.from_json(envelope.settings)
    check_message(exchanges_of(asked.protocol.name), asked.protocol.name, message)
    client = asked.protocol.client(table(1, 40), rules=asked.rules, seed=1)
    client.answer(message)
    client.row_values()


def _first_model() -> Message:
    return next(message for message, _ in _talks()["cards with reference"] if message.kind == "model")


def _use_model(path: Path) -> None:
    """As `fedbary rows --model` does."""
    message, _ = _shown(path).message()
    check_message(exchanges_of("cards"), "cards", message)
    client = fb.Cards(numbers=False).client(table(1, 40), rules=RowRules(), seed=0)
    client.answer(message)
    client.row_values()


def _use_answer(path: Path) -> None:
    """As `fedbary value` does with a study: the server's half takes it beside an honest one."""
    _shown(path)
    asked = Envelope("a" * 32, "sketch", 0, 1, nonce="b")
    server, honest = copy.deepcopy(_before_answers())
    found = AnswerFiles([path]).by_name(asked)["north"].found
    server.absorb({**honest, "c0": found})
    result = server.result()
    result.verdict(), [outcome.text for outcome in result.outcomes.values()]
    assert set(result.failed) <= {"c0"}
    if isinstance(found, Failure):
        raise fb.ProtocolError("protocols.no-answer")


@cache
def _before_answers() -> tuple[Any, Mapping[str, Reply | Failure]]:
    server, replies = next(_absorbing("sketch"))
    return server, replies


def _write_sketch_answer(path: Path) -> None:
    note = Note("schema.lacks-classes", {"classes": ("a", "b"), "count": 2})
    reply = replace(_before_answers()[1]["c0"], notes=(note,))
    save_answer(reply, Envelope("a" * 32, "sketch", 0, 1, name="north", nonce="b", flagged=2), path)


def _write_refusal(path: Path) -> None:
    found = Failure(Note("guard.min-group", {"asked": 2, "least": 5}))
    save_answer(found, Envelope("a" * 32, "sketch", 0, 1, name="north", nonce="b"), path)


def _use_schema(path: Path) -> None:
    """With the fingerprint that a dishonest party computes for it; a table becomes points by what is read."""
    known, honest = _known_fingerprint(), Schema.__dict__["fingerprint"]

    def computed(schema: Schema) -> str:
        honest.func(schema)
        return known

    Schema.fingerprint = property(computed)  # type: ignore[assignment, method-assign]
    try:
        schema = Schema.load(path)
        embed(table(1, 30), schema)
    finally:
        Schema.fingerprint = honest  # type: ignore[method-assign]


@cache
def _known_fingerprint() -> str:
    return fb.fit_schema(table(1)).fingerprint


def _write_state(path: Path) -> None:
    note = Note("schema.lacks-classes", {"classes": ("a", "b"), "count": 2})
    last = LastAnswer("sketch 0 af", 1, Reply(0, {"cost": 0.1}, {"points": np.zeros((2, 2))}, (note,)), 2)
    RunState(1, {"left": np.arange(3)}, last, _reading()).save(path.parent)


def _write_study(path: Path) -> None:
    Study(Question(fb.Sketch(), RowRules(), {}), fb.Space(), 7, "label", clients=("north", "south")).save(path.parent)


def _write_scores(path: Path) -> None:
    _result().scores.save(path)  # type: ignore[union-attr]


def _fields_targets() -> dict[str, Callable[[], Case]]:
    messages: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
        "north.card": (_write_card, _use_card),
        "sketch.fb": (lambda path: save_question(*_asking("sketch"), path), _use_question),
        "interpolation.fb": (lambda path: save_question(*_asking("interpolation"), path), _use_question),
        "describe.fb": (lambda path: save_question(*_asking("interpolation without reference"), path), _use_question),
        "north.answer": (_write_sketch_answer, _use_answer),
        "refusal.answer": (_write_refusal, lambda path: _shown(path).reply()),
        "north.model": (
            lambda path: save_question(_first_model(), Envelope("a" * 32, "model", 1, 2), path, FileKind.MODEL),
            _use_model,
        ),
    }
    found = {
        f"fields of {name}": lambda name=name, ways=ways: _fields_of_message(name, *ways)
        for name, ways in messages.items()
    }
    texts: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
        "schema.json": (lambda path: fb.fit_schema(table(1)).save(path), _use_schema),
        "description.json": (
            lambda path: path.write_text(describe(table(1), fb.Space()).to_json(), encoding="utf-8"),
            lambda path: Description.from_json(path.read_text(encoding="utf-8")),
        ),
        "study.json": (_write_study, lambda path: Study.load(path.parent)),
        "scores.json": (_write_scores, ClientScores.load),
    }
    found |= {
        f"fields of {name}": lambda name=name, ways=ways: _fields_of_json(name, *ways) for name, ways in texts.items()
    }
    found["fields of state.npz"] = lambda: _fields_of_arrays(
        STATE, _write_state, lambda path: RunState.load(path.parent)
    )
    return found


TARGETS: dict[str, Callable[[], Case]] = {
    "questions": _questions,
    "replies": _replies,
    "packed replies": _packed_replies,
    "descriptions": _descriptions,
    "notes": _notes,
    "schema.json": _file("schema.json", lambda path: fb.fit_schema(table(1)).save(path), Schema.load),
    "question.fb": _file("question.fb", _write_question, lambda path: MessageFile.load(path).message()),
    "north.answer": _file("north.answer", _write_answer, lambda path: MessageFile.load(path).reply()),
    "north.card": _file("north.card", _write_card, lambda path: check_card(fb.CardFile.load(path).card)),
    "policy.toml": _file(
        "policy.toml",
        lambda path: path.write_text(OwnerPolicy(epsilon_budget=2.0).to_toml(), encoding="utf-8"),
        OwnerPolicy.load,
    ),
    "ledger.jsonl": _file("ledger.jsonl", _write_ledger, lambda path: Ledger(path).read()),
    "result folder": _folder(lambda folder: _result().save(folder), fb.Valuation.load),
    "owner folder": _folder(_write_owner, load_owner_view),
    **{
        f"table.{kind}": _table(kind)
        for kind in ("csv", "tsv", "csv.gz", "csv.zip", "jsonl", "json", "xlsx", "feather", "arrow", "parquet")
    },
    "checked table": _file("t.csv", _write_table, _check),
    "table folder": _folder(_write_parts, lambda folder: fb.read(folder, "label")),
    **_fields_targets(),
}


def _limit_memory(megabytes: int) -> None:
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    most = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def main() -> int:
    """Fuzz the chosen targets and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="cases of each target")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only these")
    chosen = parser.parse_args()
    failed = 0
    for target in chosen.target or TARGETS:
        TARGETS[target]()  # what is cached is made before memory is counted
        if target == (chosen.target or list(TARGETS))[0]:
            _limit_memory(MOST_MEGABYTES)
        report = fuzz(target, chosen.count, seed=chosen.seed)
        failed += len(report.failures)
        sys.stdout.write("\n".join([report.line(), *report.failures[:3]]) + "\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
