"""`value()`: the one function that joins data, a protocol and an engine."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from fedbary import __version__
from fedbary.checks import did_you_mean
from fedbary.data.table import Table, as_table, table_or_error
from fedbary.engines.events import Listener
from fedbary.engines.local import LocalEngine
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.protocols.consensus import Consensus
from fedbary.protocols.messages import ClientProtocol, Settings
from fedbary.protocols.randomness import derived_seed
from fedbary.protocols.registry import PROTOCOLS
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.unusable_client import UnusableClient
from fedbary.space.options import Space
from fedbary.space.row_identity import content_digest, order_digest
from fedbary.valuation.result import Valuation
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    import pandas as pd

    Data = Table | pd.DataFrame | tuple[Any, Any]

_NEED_A_REFERENCE = ("sketch", "triangle")
_NUMERICAL_PACKAGES = ("numpy", "scipy", "POT", "scikit-learn")


def value(
    clients: Mapping[str, Data | FedbaryError],
    reference: Data | None = None,
    *,
    protocol: Settings | str | None = None,
    space: Space | None = None,
    fdr: float = 0.1,
    rule: Literal["bh", "sign"] = "bh",
    calibration: Literal["split", "crossfit"] = "split",
    seed: int | None = None,
    engine: LocalEngine | None = None,
    progress: Listener | None = None,
) -> Valuation:
    """Say what each client's data is worth, and how good each row is, before any training.

    Parameters
    ----------
    clients : mapping
        Client name → ``(X, y)``, a DataFrame with a ``label`` column, or a `Table` (see `read_clients`).
        A client that cannot be used is reported in the result's ``status``; the others are valued.
    reference : optional
        The validation rows that the clients are compared with, in the same forms. Without it the clients are
        compared with what they have in common, a robust barycenter of all of them.
    protocol : Sketch, Interpolation, … or str, optional
        A protocol's settings, or its name. Default: `Sketch` with a reference, `Consensus` without one.
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
    engine : LocalEngine, optional
        Where the clients run, with how many workers, and in which folder the run is logged.
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
    if len(clients) == 1 and reference is None and chosen.name not in _NEED_A_REFERENCE:
        raise SettingsError("One client alone has nobody to be compared with: give a reference, or more clients.")
    rules = RowRules(fdr, rule, calibration)
    space = chosen.space(space)
    run_seed = secrets.randbits(48) if seed is None else int(seed)
    target = None if reference is None else _reference(reference)
    label = None if target is None else target.label_name
    # In one process the owners' secrets are one: clients with equal rows then get equal distances.
    secret = derived_seed(run_seed, "clients")
    halves: dict[str, ClientProtocol] = {}
    digests: dict[str, str] = {}
    for name, data in clients.items():
        table = table_or_error(data, label)
        if isinstance(table, Table):
            halves[str(name)] = chosen.client(table, rules=rules, seed=secret)
            digests[str(name)] = order_digest(table)
        else:
            halves[str(name)] = UnusableClient(table)
    settings = {
        **asdict(rules),
        "seed": run_seed,
        "reference_rows": None if target is None else len(target),
        "reference_digest": None if target is None else content_digest(target),
        "versions": {"fedbary": __version__} | {name: version(name) for name in _NUMERICAL_PACKAGES},
    }
    result = (engine or LocalEngine()).run(
        lambda host: chosen.server(list(halves), target, space, rules=rules, seed=run_seed, host=host),
        halves,
        identity=_identity(chosen, space, settings, list(halves)),
        progress=progress,
    )
    for name, frame in result.row_tables.items():
        frame.attrs["table"] = digests[name]  # so that a report refuses other rows
    return replace(result, settings=result.settings | settings)


def _protocol(protocol: Settings | str | None, reference: object) -> Settings:
    if protocol is None:
        return Consensus() if reference is None else Sketch()
    if isinstance(protocol, str):
        if protocol not in PROTOCOLS:
            guess = did_you_mean(protocol, PROTOCOLS)
            raise SettingsError(f"There is no protocol {protocol!r}{guess}; there is {', '.join(PROTOCOLS)}.")
        return PROTOCOLS[protocol]()
    if not isinstance(protocol, tuple(PROTOCOLS.values())):  # type: ignore[arg-type]
        raise SettingsError(f"The 'protocol' parameter must be a protocol's settings or name. Got {protocol!r}.")
    return protocol


def _check_settings(clients: object, space: object, engine: object, seed: int | None) -> None:
    if not isinstance(clients, Mapping):
        raise SettingsError(
            "The 'clients' parameter must map names to data, such as {'a': (Xa, ya), 'b': (Xb, yb)}. "
            f"Got {type(clients).__name__} instead."
        )
    if not clients:
        raise SettingsError("There is no client to value: give at least one.")
    for name in clients:
        if str(name) != str(name).encode("utf-8", "ignore").decode("utf-8"):
            raise SettingsError(f"The client name {str(name)!a} is not valid Unicode: rename the client.")
    if len({str(name) for name in clients}) < len(clients):
        raise SettingsError("Two clients have the same name once written as text: rename one of them.")
    if space is not None and not isinstance(space, Space):
        raise SettingsError(f"The 'space' parameter must be an fb.Space(...). Got {space!r} instead.")
    if engine is not None and not isinstance(engine, LocalEngine):
        raise SettingsError(f"The 'engine' parameter must be an fb.LocalEngine(...). Got {engine!r} instead.")
    if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
        raise SettingsError(f"The 'seed' parameter must be a non-negative whole number or None. Got {seed!r}.")


def _reference(data: Data) -> Table:
    try:
        table = as_table(data)
    except DataError as error:
        raise DataError(f"reference: {error.marked}") from error
    return table if table.origin else table.replace(origin="reference")


def _identity(protocol: Settings, space: Space, settings: dict[str, Any], clients: list[str]) -> str:
    """What must be the same for a checkpoint to fit: the settings and who takes part."""
    content = {
        **asdict(protocol),  # type: ignore[call-overload]
        "space": asdict(space),
        **settings,
        "clients": clients,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
