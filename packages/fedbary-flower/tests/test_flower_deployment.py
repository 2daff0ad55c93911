"""One real deployment on loopback: TLS, authenticated nodes with files of their own, and two protocols.

Every message starts a process on each node, so there are as few as show the fact; in process all protocols run whole.
What happens when something breaks is in test_flower_faults.py.
"""

import pandas as pd
import pytest

import fedbary as fb
from deployed import CANARY, NAMES, deployed, same
from fedbary.guard.ledger import Ledger
from processes import eventually

pytestmark = pytest.mark.federation


@pytest.fixture(scope="module")
def federation(tmp_path_factory, digits):
    policy = 'protocols = ["sketch", "cards"]\nmax_questions = 2\nshare_card_with_others = true\n'
    with deployed(tmp_path_factory.mktemp("federation"), digits, policy) as made:
        yield made


def test_the_sketch_protocol_gives_the_numbers_of_the_local_engine_and_keeps_rows_at_home(federation):
    home, folder = federation.home, federation.folder
    found, said = federation.run(
        home / "sketch", f'protocol="sketch" reference="{home / "reference.parquet"}" policy="coarsen"'
    )
    clients, reference = federation.read()
    same(found, fb.value(clients, reference, protocol=fb.Sketch(policy="coarsen"), seed=0), ["distance", "quality"])
    for name in NAMES:
        kept = folder / "nodes" / name
        assert eventually(lambda kept=kept: list(kept.glob("results/*/report.html")), 300)  # after the reply has left
        (rows,) = kept.glob("results/*/rows.parquet")
        assert len(pd.read_parquet(rows)) == 120
        ledger = Ledger(kept / "state" / name / "ledger.jsonl")
        assert [entry.what for entry in ledger.read(head_needed=True).entries] == ["question", "reply"]
    seen = [said.encode(), *(f.read_bytes() for f in (home / "sketch").rglob("*") if f.is_file())]
    seen += [file.read_bytes() for file in (folder / "server").rglob("*") if file.is_file()]
    seen.append(federation.said("server").encode())
    assert CANARY.encode() not in b"".join(seen)


def test_cards_give_the_numbers_of_the_local_engine_and_leave_no_row(federation):
    home, folder = federation.home, federation.folder
    found, said = federation.run(home / "cards", "")
    clients, _ = federation.read()
    expected = fb.value(clients, protocol=fb.Cards(policy="guarded", shared=True), seed=0)
    same(found, expected, ["distance", "share", "quality", "wrong_labels"])
    for name in NAMES:
        entries = Ledger(folder / "nodes" / name / "state" / name / "ledger.jsonl").read().entries
        assert [(entry.what, entry.kind) for entry in entries if entry.kind != "sketch"] == [
            ("question", "card"), ("reply", "card"), ("reply", "model"), ("reply", "evidence"), ("reply", "flags")
        ]  # fmt: skip
    seen = [said.encode(), *(f.read_bytes() for f in (home / "cards").rglob("*") if f.is_file())]
    assert CANARY.encode() not in b"".join(seen)
