"""`value()` joins data, a protocol and an engine; `card()` makes what an owner uploads once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fedbary.checks import optional, truth
from fedbary.compute import computing_on
from fedbary.compute.device import Device
from fedbary.data.objects import as_table, check_types, client_tables, clients_in, private_table, reference_table
from fedbary.data.options import ReadOptions
from fedbary.engines.events import Listener
from fedbary.engines.files.engine import CardsEngine, FilesEngine
from fedbary.engines.files.message_file import CardFile
from fedbary.engines.files.owner import card_question
from fedbary.engines.local import LocalEngine
from fedbary.engines.run import Engine
from fedbary.engines.session import run_session
from fedbary.errors import FedbaryError, SettingsError, wrong_parameter
from fedbary.guard.guarded_client import GuardedClient
from fedbary.guard.ledger import Ledger
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.messages import ClientProtocol, Settings
from fedbary.protocols.registry import protocol_named
from fedbary.space.options import Space, Task
from fedbary.space.schema import Schema
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import RowRules

# What holds rows and labels: a `Table`, a frame, a pair (X, y), a data set, a path (see `fedbary.data.objects`).
Data: TypeAlias = Any


def value(
    clients: Mapping[str, Data | FedbaryError] | Sequence[CardFile | str | Path] | None,
    reference: Data | None = None,
    *,
    label: str | None = None,
    options: ReadOptions | None = None,
    protocol: Settings | str | None = None,
    space: Space | None = None,
    fdr: float = 0.1,
    rule: Literal["bh", "sign"] = "bh",
    seed: int | None = None,
    device: Device = "auto",
    engine: Engine | None = None,
    progress: Listener | None = None,
    require_card: bool = False,
) -> Valuation:
    """Say what each client's data is worth, and how good each row is, before any training.

    Parameters
    ----------
    clients : mapping
        Client name → its rows: a frame (pandas, polars, pyarrow, DuckDB, …), a data set of Hugging Face, a data set
        or loader of torch, a pair ``(X, y)`` (arrays, sparse matrices, lists of texts or images, frames), a `Table`
        (see `read_clients`), or the path of a file. A client whose rows cannot be used is reported in the result's
        ``status``; the others are valued. Or one frame of which ``options.client_column`` says whose each row is. Or a
        list of cards (`card`), or of their files: nobody's rows are needed then. None with an engine whose clients hold
        their own rows.
    reference : optional
        The validation rows that the clients are compared with, in the same forms. Without it each client
        is compared with what all others have in common.
    label : str, optional
        The label column of frames and files. Default: ``label``; for clients, what the reference calls it.
    options : ReadOptions, optional
        What is asked of reading the columns of frames and files; the rest is guessed.
    protocol : Cards, Sketch, … or str, optional
        A protocol's settings, or its name. Default: `Cards`.
    space : Space, optional
        How rows become points. Default: what the protocol recommends.
    fdr : float
        False-discovery rate of row flags, over the rows of all clients; measured, not proved.
    rule : {"bh", "sign"}
        How rows are flagged: Benjamini–Hochberg, or the paper's rule, a positive calibrated gradient. By
        `Interpolation`, which knows no p-values, ``bh`` flags nothing.
    seed : int, optional
        Makes the run repeatable. Left out, one is drawn and kept in ``result.settings``.
    device : {"auto", "cpu", "cuda"}
        Where arithmetic on many rows runs; ``auto`` takes a GPU where there is one and the work is worth its start.
        ``result.settings["device"]`` says what was used.
    engine : Engine, optional
        What carries messages to the clients and back. Default: `LocalEngine`, which says with how many workers the
        clients run here, and in which folder the run is logged.
    progress : callable, optional
        Called with an `Event` whenever a client has answered.
    require_card : bool
        Refuse a protocol without cards: what clients say of themselves is held against their cards, or against nothing.

    Returns
    -------
    Valuation

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [100, 100], seed=0)
    >>> noisy, changed = fb.corruptions.add_noise(parts.clients["client_2"], 0.5, seed=0)
    >>> result = fb.value({"clean": parts.clients["client_1"], "noisy": noisy}, digits.test, seed=0)
    >>> result.ranking()["client"].tolist()
    ['clean', 'noisy']
    """
    column = options.client_column if isinstance(options, ReadOptions) else None
    if column is not None and clients is not None and not isinstance(clients, Mapping | list | tuple):
        clients = clients_in(clients, column)
    alone = isinstance(clients, list | tuple | Mapping) and len(clients) == 1
    if isinstance(clients, list | tuple):
        protocol, engine, clients = *_by_cards(clients, protocol, engine), None
    chosen = Cards() if protocol is None else protocol
    if isinstance(chosen, str):
        chosen = protocol_named(chosen, in_one_process=True)()
    if isinstance(chosen, type) or not isinstance(chosen, Settings):
        raise wrong_parameter("protocol", "value", "a protocol's settings or name", chosen)
    if clients is not None or engine is None:
        _check_names(clients)
    optional(space, Space, "space", "value", "an fb.Space(...)")
    optional(engine, Engine, "engine", "value", "an engine, such as fb.LocalEngine(...)")
    optional(options, ReadOptions, "options", "value", "an fb.ReadOptions(...)")
    if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
        raise wrong_parameter("seed", "value", "a non-negative whole number", seed)
    assert clients is None or isinstance(clients, Mapping)
    if alone and reference is None and not chosen.needs_reference:
        raise SettingsError("settings.one-client")
    truth(require_card, "require_card", "value")
    check_types(clients or {})
    carrier = engine or LocalEngine()
    with computing_on(device, "value"):
        target = None if reference is None else reference_table(reference, label=label, options=options)
        return run_session(
            chosen,
            carrier,
            reference=target,
            space=chosen.space(space),
            rules=RowRules(fdr, rule),
            seed=carrier.drawn_seed() if seed is None else int(seed),
            tables=None if clients is None else client_tables(clients, target, label=label, options=options),
            progress=progress,
            require_card=require_card,
        )


def card(
    data: Data,
    label: str | None = None,
    *,
    name: str = "",
    epsilon: float | None = None,
    delta: float = 1e-6,
    schema: Schema | str | Path | None = None,
    min_group: int = 5,
    shared: bool = False,
    task: Task = "auto",
    options: ReadOptions | None = None,
    device: Device = "auto",
    policy: OwnerPolicy | None = None,
    ledger: Ledger | None = None,
) -> CardFile:
    """The card of an owner's table: what a linear model needs to know of its rows, and nothing else.

    It is made once, sent to whoever asks, and answers every later question; ``fb.value([card, …])`` reads it.

    Parameters
    ----------
    data
        The rows, in any form that `value` takes.
    label : str, optional
        The label column of a frame or file. Default: ``label``.
    name : str
        What the owner is called; others take it as a claim.
    epsilon, delta : float, optional
        Differential privacy. Needs a ``schema``.
    schema : Schema or path, optional
        Public coordinates that were agreed on beforehand (``fedbary schema make``), never from rows of clients.
    min_group : int
        Fewest different rows behind anything in an exact card.
    shared : bool
        Whether another client may receive a model that is made of this card and no other.
    task : {"auto", "classification", "regression"}
        Whether the label names classes or is a number.
    options : ReadOptions, optional
        What is asked of reading the columns of a frame or file; the rest is guessed.
    device : {"auto", "cpu", "cuda"}
        Where sums over many rows are made; ``auto`` takes a GPU where there is one and the work is worth its start.
    policy, ledger : OwnerPolicy, Ledger, optional
        What the owner allows, and the record of what left. With one of them the card passes them as it would over a
        network; ``fedbary card`` always does.

    Returns
    -------
    CardFile

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [150, 150, 150, 150], seed=0).clients
    >>> cards = [fb.card(rows, name=name) for name, rows in parts.items()]
    >>> cards[0]
    Card of client_1: 150 rows, 1 column, 10 classes of 'label', exact sums
    >>> fb.value(cards, seed=0).clients["client"].tolist()
    ['client_1', 'client_2', 'client_3', 'client_4']
    """
    optional(options, ReadOptions, "options", "card", "an fb.ReadOptions(...)")
    agreed = schema if schema is None or isinstance(schema, Schema) else Schema.load(schema)
    guards: Literal["guarded", "dp"] = "guarded" if epsilon is None else "dp"
    asked = Cards(min_group=min_group, epsilon=epsilon, delta=delta, policy=guards, shared=shared)
    if policy is not None and ledger is None:
        raise wrong_parameter("ledger", "card", "an fb.Ledger(...) where there is a policy", ledger)
    with computing_on(device, "card"):
        if agreed is None:
            table = as_table(data, label=label, options=options)
        else:
            read = as_table if epsilon is None else private_table
            table = read(data, label=label or agreed.label.name, options=options, reading=agreed.whole_reading)
        client: ClientProtocol = asked.client(table, rules=RowRules(), seed=0)
        if ledger is not None:
            home, rules = ledger.path.parent, policy or OwnerPolicy()
            run, seed = secrets.token_hex(16), NodeConfig(home, home, "").secret()
            client = GuardedClient.for_table(
                table, asked, policy=rules, ledger=ledger, run=run, seed=seed, rules=RowRules()
            )
        return CardFile(card_of(client.answer(card_question(task, agreed))), name)


def _by_cards(
    cards: Sequence[CardFile | str | Path], protocol: Settings | str | None, engine: Engine | None
) -> tuple[Cards, CardsEngine]:
    """Cards answer for themselves; an engine for files says where models are written and answers lie."""
    asked = Cards() if protocol is None or protocol == Cards.name else protocol
    if not isinstance(asked, Cards):
        raise wrong_parameter("protocol", "value", "fb.Cards(...) where clients are cards", protocol)
    if not cards:
        raise SettingsError("settings.no-client")
    if strange := [one for one in cards if not isinstance(one, CardFile | str | Path)]:
        raise wrong_parameter("clients", "value", "a mapping of names to tables, or a list of cards", strange[0])
    if engine is None:
        return asked, CardsEngine(cards)
    if not isinstance(engine, FilesEngine):
        raise wrong_parameter("engine", "value", "an fb.FilesEngine(...) where clients are cards", engine)
    return asked, CardsEngine(cards, answers=engine.places, folder=engine.folder)


def _check_names(clients: object) -> None:
    if not isinstance(clients, Mapping):
        expected = "a mapping of names to data, such as {'a': (Xa, ya), 'b': (Xb, yb)}"
        raise wrong_parameter("clients", "value", expected, type(clients))
    if not clients:
        raise SettingsError("settings.no-client")
    for name in clients:
        if str(name) != str(name).encode("utf-8", "ignore").decode("utf-8"):
            raise SettingsError("settings.not-unicode", name=ascii(str(name)))
    if len({str(name) for name in clients}) < len(clients):
        raise SettingsError("settings.same-name")
