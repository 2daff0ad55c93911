"""What a client says of itself: refused where it cannot be true, noted where it is too good, and never worth all."""

from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from fedbary.engines.session import run_session
from fedbary.protocols.messages import Reply
from fedbary.protocols.registry import PROTOCOLS, claims_of
from fedbary.valuation.rows import RowRules
from fedbary.valuation.verdict import Advice
from fedbary.views.tables import valuation_text
from talks import table, talk


def claiming(**numbers):
    """A client that says these numbers instead of its own; a function makes one of the other."""

    def said(message, reply):
        if not isinstance(reply, Reply):
            return reply
        known = {name: new for name, new in numbers.items() if name in reply.scalars}
        new = {name: new(reply.scalars[name]) if callable(new) else new for name, new in known.items()}
        return Reply(reply.round, {**reply.scalars, **new}, reply.arrays, reply.notes)

    return said


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        ("sketch", claiming(error=lambda e: 0.9 * e), "claim-error"),
        ("sketch", claiming(error=0.0), "claim-error"),
        ("sketch", claiming(error=lambda e: 50.0 * e), "claim-error"),
        ("sketch", claiming(lower=lambda low: 1000.0 * low + 1000.0), "claim-ends"),
        ("sketch", claiming(relaxed=1e9), "claim-relaxed"),
        ("sketch", claiming(rows=10**12), "number-unfit"),
        ("sketch", claiming(rows=0), "number-unfit"),
        ("sketch dp", claiming(noise=0.0), "claim-noise"),
        ("sketch dp", claiming(noise=1e-9), "claim-noise"),
        ("sketch dp", claiming(cost=1e6), "claim-cost"),
        ("interpolation", claiming(distance=lambda d, said=[1e3, 0.0]: said.pop()), "claim-ends"),
    ],
)
def test_what_cannot_be_true_fails_its_client(name, said, code):
    result = talk(name, said)[0].result()
    assert list(result.failed) == ["c0"]
    assert result.outcomes["c0"].has(f"protocols.{code}"), result.failed


@pytest.mark.parametrize("name", ["sketch", "sketch coarsen", "sketch dp", "interpolation"])
def test_honest_claims_are_believed(name):
    result = talk(name)[0].result()
    assert not result.failed
    assert not any(outcome.has("protocols.too-good") for outcome in result.outcomes.values())


def test_too_good_is_noted_and_looked_at_and_does_not_take_all():
    """A perfect liar: every number fits the others, and yet no rows are so near."""
    result = talk("sketch", claiming(cost=0.0, lower=0.0, relaxed=0.0))[0].result()
    assert result.outcomes["c0"].ok
    assert result.outcomes["c0"].has("protocols.too-good")
    opinions = {opinion.client: opinion for opinion in result.verdict()}
    assert opinions["c0"].advice is Advice.LOOK
    assert opinions["c0"].reasons[0].code == "verdict.nearer-than-the-target"
    assert result.clients["share"][0] < 0.9
    assert (result.clients["share"][1:] > 0.03).all()
    assert result.clients["share_high"][0] < 0.95


class Elsewhere(fb.LocalEngine):
    """An engine whose clients' rows are not the caller's."""

    def clients(self, work, state, observer):
        return super().clients(replace(work, tables={f"c{i}": table(i) for i in range(2)}), state, observer)

    def finish(self, result, observer):
        return result


def test_a_result_says_which_numbers_are_self_reported(tmp_path):
    protocol = fb.Sketch()
    asked = {"reference": table(9, 80), "space": protocol.space(None), "rules": RowRules(), "seed": 0}
    far = run_session(protocol, Elsewhere(workers=1), **asked)
    note = far.notes[-1]
    assert (note.code, note.facts["numbers"]) == ("valuation.self-reported", claims_of("sketch"))
    assert str(note) in " ".join(valuation_text(far).split())
    far.report(tmp_path / "report.html")
    assert "are what the clients say of themselves" in (tmp_path / "report.html").read_text(encoding="utf-8")
    here = fb.value({f"c{i}": table(i) for i in range(2)}, table(9, 80), protocol=protocol, seed=0)
    assert not any(note.code == "valuation.self-reported" for note in here.notes)
    np.testing.assert_array_equal(far.clients["distance"], here.clients["distance"])


def test_every_protocol_says_what_its_clients_claim():
    assert all("rows" in claims_of(name) for name in PROTOCOLS)
