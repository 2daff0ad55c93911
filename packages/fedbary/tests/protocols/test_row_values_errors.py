"""Row values that cannot be had are refused with a code, whenever they are asked for and whatever the server sent."""

import copy

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.errors import FedbaryError
from fedbary.protocols.messages import Message
from fedbary.valuation.rows import RowRules

RUNS = {
    "sketch": (fb.Sketch(), True),
    "cards": (fb.Cards(), False),
    "cards-with-reference": (fb.Cards(), True),
    "interpolation": (fb.Interpolation(rounds=2), True),
    "interpolation-gamma": (fb.Interpolation(rounds=2, gradient="gamma"), False),
}


def table(seed, rows=40):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, rows)
    columns = {f"x{i}": 2.0 * kinds + rng.normal(size=rows) for i in range(2)}
    return fb.Table.from_frame(pd.DataFrame(columns).assign(label=np.array(["a", "b"])[kinds]), "label")


def spoilt(array):
    """The same array in ways that no honest server sends."""
    yield array[:0]
    yield array[:1]
    yield np.full(array.shape, np.nan)
    yield np.full(array.shape, 1e308)
    yield np.zeros((3, *array.shape))
    yield array.ravel()
    yield np.concatenate([array, array])
    yield array.astype(np.int64) - 2
    yield np.array(["x"])


def values_or_code(client):
    """What asking for row values ends in: anything but a FedbaryError fails the test."""
    try:
        return len(client.row_values().frame)
    except FedbaryError as error:
        return error.code


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # absurd numbers overflow, and that is what they are for
@pytest.mark.parametrize("name", RUNS)
def test_row_values_are_there_or_refused_with_a_code(name):
    protocol, with_reference = RUNS[name]
    reference = table(9, 60) if with_reference else None
    server = protocol.server(["a", "b", "c"], reference, protocol.space(None), rules=RowRules(), seed=0)
    clients = {name: protocol.client(table(seed), rules=RowRules(), seed=seed) for seed, name in enumerate("abc")}
    seen = [values_or_code(clients["a"])]
    while tasks := server.tasks():
        if "a" in tasks:
            misled(clients["a"], tasks["a"])
        server.absorb({name: clients[name].answer(message) for name, message in tasks.items()})
        seen.append(values_or_code(clients["a"]))
    assert isinstance(seen[0], str)
    assert seen[-1] == 40


def misled(client, message):
    for name, array in message.arrays.items():
        for other in [*spoilt(array), None]:
            arrays = {**message.arrays, name: other}
            if other is None:
                del arrays[name]
            victim = copy.deepcopy(client)
            try:
                victim.answer(Message(message.kind, message.round, message.scalars, arrays))
            except Exception:
                continue
            values_or_code(victim)
