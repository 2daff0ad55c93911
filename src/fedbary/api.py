"""`value()`: the one function that joins data, a protocol and an engine."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from fedbary.checks import did_you_mean
from fedbary.data.table import Table, as_table, table_or_error
from fedbary.engines.events import Listener
from fedbary.engines.local import LocalEngine
from fedbary.engines.run import Engine
from fedbary.engines.session import run_session
from fedbary.errors import DataError, FedbaryError, SettingsError, wrong_parameter
from fedbary.protocols.cards import Cards
from fedbary.protocols.messages import Settings
from fedbary.protocols.registry import PROTOCOLS
from fedbary.protocols.sketch import Sketch
from fedbary.space.options import Space
from fedbary.valuation.result import Valuation
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    import pandas as pd

    Data = Table | pd.DataFrame | tuple[Any, Any]

_NEED_A_REFERENCE = ("sketch", "triangle")


def value(
    clients: Mapping[str, Data | FedbaryError] | None,
    reference: Data | None = None,
    *,
    protocol: Settings | str | None = None,
    space: Space | None = None,
    fdr: float = 0.1,
    rule: Literal["bh", "sign"] = "bh",
    calibration: Literal["split", "crossfit"] = "crossfit",
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Listener | None = None,
) -> Valuation:
    """Say what each client's data is worth, and how good each row is, before any training.

    Parameters
    ----------
    clients : mapping
        Client name → ``(X, y)``, a DataFrame with a ``label`` column, or a `Table` (see `read_clients`).
        A client that cannot be used is reported in the result's ``status``; the others are valued. None with an
        engine whose clients hold their own rows.
    reference : optional
        The validation rows that the clients are compared with, in the same forms. Without it each client
        is compared with what all others have in common.
    protocol : Sketch, Interpolation, … or str, optional
        A protocol's settings, or its name. Default: `Sketch` with a reference, `Cards` without one.
    space : Space, optional
        How rows become points. Default: what the protocol recommends.
    fdr : float
        False-discovery rate of row flags.
    calibration : {"split", "crossfit"}
        ``split`` fits on one half of the reference and calibrates flags on the other; ``crossfit`` uses all rows
        for both, out of fold: more power, no finite-sample proof. `Interpolation` sends no calibration scores
        and leaves ``flag`` NA under ``rule="bh"``.
    rule : {"bh", "sign"}
        How rows are flagged: Benjamini–Hochberg, or the paper's rule, a positive calibrated gradient.
    seed : int, optional
        Makes the run repeatable. Left out, one is drawn and kept in ``result.settings``.
    engine : Engine, optional
        What carries messages to the clients and back. Default: `LocalEngine`, which says with how many workers the
        clients run here, and in which folder the run is logged.
    progress : callable, optional
        Called with an `Event` whenever a client has answered.

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
    chosen = _protocol(protocol, reference)
    _check_settings(clients, space, engine, seed)
    if clients is not None and len(clients) == 1 and reference is None and chosen.name not in _NEED_A_REFERENCE:
        raise SettingsError("settings.one-client")
    carrier = engine or LocalEngine()
    target = None if reference is None else _reference(reference)
    label = None if target is None else target.label_name
    return run_session(
        chosen,
        carrier,
        reference=target,
        space=chosen.space(space),
        rules=RowRules(fdr, rule, calibration),
        seed=carrier.drawn_seed() if seed is None else int(seed),
        tables=None if clients is None else {str(name): table_or_error(data, label) for name, data in clients.items()},
        progress=progress,
    )


def _protocol(protocol: Settings | str | None, reference: object) -> Settings:
    if protocol is None:
        return Cards() if reference is None else Sketch()
    if isinstance(protocol, str):
        if protocol not in PROTOCOLS:
            guess = did_you_mean(protocol, PROTOCOLS)
            raise SettingsError("settings.no-protocol", name=protocol, guess=guess, known=", ".join(PROTOCOLS))
        return PROTOCOLS[protocol]()
    if not isinstance(protocol, tuple(PROTOCOLS.values())):  # type: ignore[arg-type]
        raise wrong_parameter("protocol", "value", "a protocol's settings or name", protocol)
    return protocol


def _check_settings(clients: object, space: object, engine: object, seed: int | None) -> None:
    if clients is not None or engine is None:
        _check_names(clients)
    if space is not None and not isinstance(space, Space):
        raise wrong_parameter("space", "value", "an fb.Space(...)", space)
    if engine is not None and not isinstance(engine, Engine):
        raise wrong_parameter("engine", "value", "an engine, such as fb.LocalEngine(...)", engine)
    if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
        raise wrong_parameter("seed", "value", "a non-negative whole number", seed)


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


def _reference(data: Data) -> Table:
    try:
        table = as_table(data)
    except DataError as error:
        raise error.at("reference") from error
    return table if table.origin else table.replace(origin="reference")
