"""Every protocol in this process, message by message, with whatever one client is made to say."""

import copy
from functools import cache

import numpy as np
import pandas as pd

import fedbary as fb
from fedbary.protocols.messages import Failure
from fedbary.valuation.rows import RowRules

# Every protocol in every shape that its messages have.
TALKS = {
    "sketch": (fb.Sketch(), True),
    "sketch coarsen": (fb.Sketch(policy="coarsen"), True),
    "sketch dp": (fb.Sketch(policy="dp", epsilon=1.0), True),
    "cards": (fb.Cards(), False),
    "cards guarded": (fb.Cards(policy="guarded"), False),
    "cards with reference": (fb.Cards(), True),
    "cards dp": (fb.Cards(policy="dp", epsilon=8.0), True),
    "interpolation": (fb.Interpolation(support=8, rounds=2), True),
    "interpolation without reference": (fb.Interpolation(support=8, rounds=2), False),
    "interpolation exact": (
        fb.Interpolation(support=8, rounds=1, interpolation="exact", allow_reconstruction=True),
        True,
    ),
}


def table(seed, rows=60, kind="classes"):
    """Two numbers, a category and a label."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, rows)
    label = [f"c{v}" for v in code] if kind == "classes" else code + rng.normal(size=rows)
    columns = {"a": rng.normal(code, 1.0), "b": rng.normal(-code, 1.0), "ward": rng.choice(["north", "south"], rows)}
    return fb.Table.from_frame(pd.DataFrame({**columns, "label": label}))


@cache
def halves_of(name, clients=4, kind="classes"):
    """A server and its clients before their first message; a server takes a second to make."""
    settings, with_reference = TALKS[name]
    tables = {f"c{i}": table(i, kind=kind) for i in range(clients)}
    reference = table(99, 120, kind) if with_reference else None
    server = settings.server(list(tables), reference, settings.space(None), rules=RowRules(), seed=0)
    return server, {one: settings.client(rows, rules=RowRules(), seed=1) for one, rows in tables.items()}


def talk(name, change=None, clients=4, kind="classes", heard=None):
    """The finished server, and the clients, of a run in which ``change(message, reply)`` is what "c0" says."""
    server, halves = copy.deepcopy(halves_of(name, clients, kind))
    while tasks := server.tasks():
        replies = {}
        for one, message in tasks.items():
            try:
                replies[one] = halves[one].answer(message)
            except fb.FedbaryError as error:
                replies[one] = Failure.of(error)
            if heard is not None:
                heard.append((message, replies[one]))
            if change is not None and one == "c0":
                replies[one] = change(message, replies[one])
        server.absorb(replies)
    return server, halves
