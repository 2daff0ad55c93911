"""Dividing one table among clients, in the ways the literature does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fedbary.data.adapters import foreign, is_of
from fedbary.data.corruptions import Mask, Seed, add_noise, flip_labels
from fedbary.data.objects import as_table
from fedbary.data.options import ReadOptions
from fedbary.data.table import Table
from fedbary.errors import SettingsError, wrong_parameter

Rows: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Partition:
    """The clients a table was divided among.

    Parameters
    ----------
    clients
        Name → table.
    changed
        Name → mask of the rows that were corrupted on purpose.

    Examples
    --------
    >>> partition = by_size(Table({"x": np.arange(5)}, labels=np.zeros(5)), [2, 3])
    >>> {name: len(table) for name, table in partition.clients.items()}
    {'client_1': 2, 'client_2': 3}
    """

    clients: dict[str, Table]
    changed: dict[str, Mask]


def paper_case(
    table: Table,
    case: int,
    *,
    clients: int = 5,
    rows: int | None = None,
    seed: Seed = 0,
    noise: Literal["rows", "amplitude"] = "rows",
) -> Partition:
    """Divide a table as in one of the five cases of the FedBary paper (appendix "Client Evaluation").

    1. Same distribution, same size: as many rows of each class for each client.
    2. Different distributions, same size: client i has 80 % of the classes 2i and 2i + 1 (modulo the
       number of classes); the others divide the remaining 20 % evenly.
    3. Same distribution, different sizes: 10, 15, 20, 25 and 30 % of each class.
    4. Case 1 with 0, 5, 10, 15 and 20 % of the labels flipped to a random other class.
    5. Case 1 with Gaussian feature noise of 0, 5, 10, 15 and 20 %.

    For another number of clients the percentages are evenly spaced over the same range. Where classes
    differ in size, as many rows of each are used as the smallest has, so that the cases stay balanced.
    Where in case 2 the classes do not divide evenly, larger clients lose random rows until all have the
    size of the smallest. Labels that are a quantity are divided at random in cases 1, 3 and 5.

    Parameters
    ----------
    table, case, clients
        What to divide, how, and among how many.
    rows
        Rows to use in total, rounded down to what divides evenly; by default as many as possible.
    seed
        Seed or generator.
    noise
        The paper's "percentage of Gaussian noise" (case 5) can be read two ways. ``"rows"``: that
        share of the rows gets noise of one standard deviation; ``"amplitude"``: every row gets noise
        of that share of a standard deviation.

    Examples
    --------
    >>> table = Table({"x": np.arange(100)}, labels=np.arange(100) % 2)
    >>> partition = paper_case(table, case=4)
    >>> [int(mask.sum()) for mask in partition.changed.values()]
    [0, 1, 2, 3, 4]
    """
    if case not in (1, 2, 3, 4, 5):
        raise wrong_parameter("case", "paper_case", "one of the paper's cases 1, 2, 3, 4 or 5", case)
    if noise not in ("rows", "amplitude"):
        raise wrong_parameter("noise", "paper_case", "'rows' or 'amplitude'", noise)
    _require_clients(clients)
    rng = np.random.default_rng(seed)
    groups = _class_rows(table, rng, needed_by=f"case {case}" if case in (2, 4) else None)
    basis = _rows_per_class(groups, rows)
    shares = np.full((clients, len(groups)), 1 / clients)
    if case == 2:
        shares = _skewed_shares(clients, len(groups))
    elif case == 3:
        ratios = np.linspace(0.10, 0.30, clients)
        shares = np.repeat(ratios[:, None] / ratios.sum(), len(groups), axis=1)
    counts = np.floor(basis * shares + 1e-9).astype(int)
    if counts.sum(axis=1).min() < 1 or (case != 2 and counts.min() < 1):
        raise SettingsError("data.too-few-for-case", rows=int(basis), classes=len(groups), case=case, clients=clients)
    parts = _deal(groups, counts, rng)
    if case == 2:
        smallest = min(map(len, parts))
        parts = [part[:smallest] for part in parts]
    partition = _divided(table, parts)
    return _corrupted(partition, case, noise, np.unique(table.labels), rng) if case in (4, 5) else partition


def dirichlet(
    table: Table, clients: int, alpha: float, *, rows: int | None = None, seed: Seed = 0, min_rows: int = 1
) -> Partition:
    """Divide a table with label skew: the smaller ``alpha``, the fewer classes a client has.

    With ``rows``, every client gets that many rows, their classes drawn from shares that are
    Dirichlet(alpha) over the classes; what a class that has run out cannot give comes from the others
    in proportion. Without it, all rows are divided, each class by shares that are Dirichlet(alpha) over the
    clients, drawn again (at most 100 times) until every client has ``min_rows``.

    Examples
    --------
    >>> table = Table({"x": np.arange(60)}, labels=np.arange(60) % 3)
    >>> partition = dirichlet(table, clients=4, alpha=0.5, rows=10)
    >>> [len(client) for client in partition.clients.values()]
    [10, 10, 10, 10]
    """
    _require_clients(clients)
    if not (alpha > 0 and np.isfinite(alpha)):
        raise wrong_parameter("alpha", "dirichlet", "a positive number", alpha)
    rng = np.random.default_rng(seed)
    groups = _class_rows(table, rng, needed_by="a Dirichlet split")
    sizes = np.array([len(group) for group in groups])
    wanted = clients * (min_rows if rows is None else rows)
    if wanted > len(table) or (rows is not None and rows < 1):
        raise SettingsError(
            "data.clients-too-large",
            clients=clients,
            size=min_rows if rows is None else rows,
            rows=len(table),
            most=len(table) // clients,
        )
    if rows is not None:
        counts = _counts_of_equal_clients(sizes, clients, alpha, rows, rng)
    else:
        for _ in range(100):
            shares = rng.dirichlet(np.full(clients, alpha), size=len(groups)).T
            ends = np.round(np.cumsum(shares, axis=0) * sizes).astype(int)
            counts = np.diff(ends, axis=0, prepend=0)
            if counts.sum(axis=1).min() >= min_rows:
                break
        else:
            raise SettingsError(
                "data.dirichlet-left-a-client-empty",
                alpha=float(alpha),
                least=min_rows,
                rows=len(table),
                clients=clients,
            )
    return _divided(table, _deal(groups, counts, rng))


def by_size(table: Table, sizes: Sequence[int] | Sequence[float], *, seed: Seed = 0) -> Partition:
    """Give each client random rows: so many (integers), or such a share of all (floats up to 1 in sum).

    Examples
    --------
    >>> table = Table({"x": np.arange(10)}, labels=np.zeros(10))
    >>> [len(client) for client in by_size(table, [0.2, 0.5]).clients.values()]
    [2, 5]
    """
    if all(isinstance(size, Integral) for size in sizes):
        counts = np.asarray(sizes, dtype=int)
    elif sum(sizes) <= 1 + 1e-9:
        counts = np.floor(np.asarray(sizes) * len(table) + 1e-9).astype(int)
    else:
        raise SettingsError("data.shares-above-one", total=float(sum(sizes)))
    if len(counts) == 0 or counts.min() < 1 or counts.sum() > len(table):
        raise SettingsError("data.sizes-do-not-fit", sizes=str(counts.tolist()), rows=len(table))
    order = np.random.default_rng(seed).permutation(len(table))[: counts.sum()]
    return _divided(table, np.split(order, np.cumsum(counts)[:-1]))


def of_flower(
    source: Any, *, split: str = "train", label: str | None = None, options: ReadOptions | None = None
) -> Partition:
    """Take the partitions of flwr-datasets as clients; columns are read once for all of them.

    Partitions by natural ids are called after these, and the column of ids, which says whose row it is, is left out.

    Parameters
    ----------
    source
        A ``FederatedDataset``, or a partitioner that has its data set.
    split
        Which split of a ``FederatedDataset``.
    label, options
        The label column (default: ``label``, or the only feature of classes), and what is asked of reading.

    Examples
    --------
    >>> import fedbary as fb
    >>> from flwr_datasets import FederatedDataset  # doctest: +SKIP
    >>> mnist = FederatedDataset(dataset="ylecun/mnist", partitioners={"train": 10})  # doctest: +SKIP
    >>> clients = fb.partitions.of_flower(mnist).clients  # doctest: +SKIP
    """
    if not is_of(source, "flwr_datasets") or not (hasattr(source, "partitioners") or hasattr(source, "num_partitions")):
        expected = "a FederatedDataset or a partitioner of flwr-datasets"
        raise wrong_parameter("source", "of_flower", expected, type(source))
    from datasets import concatenate_datasets

    with foreign(source):
        # Not source.load_partition, which reports the call to Flower.
        known = getattr(source, "partitioners", {split: source})
        if split not in known:
            raise wrong_parameter("split", "of_flower", f"one that is divided ({', '.join(known)})", split)
        parts = [known[split].load_partition(place) for place in range(known[split].num_partitions)]
        names = getattr(known[split], "partition_id_to_natural_id", {})
        rows = concatenate_datasets(parts)
        if names:
            rows = rows.remove_columns(known[split]._partition_by)
    ends = np.cumsum([len(part) for part in parts])
    table = as_table(rows, label=label, options=options)
    return _divided(table, np.split(np.arange(len(table)), ends[:-1]), [str(names[place]) for place in sorted(names)])


def _require_clients(clients: int) -> None:
    if not isinstance(clients, Integral) or clients < 1:
        raise wrong_parameter("clients", "partitions", "a whole number from 1", clients)


def _class_rows(table: Table, rng: np.random.Generator, *, needed_by: str | None) -> list[Rows]:
    """Shuffle the rows of each class, in sorted order; of a quantity, all rows as one group."""
    if not table.has_classes:
        if needed_by:
            raise SettingsError("data.needs-classes", needed_by=needed_by)
        return [rng.permutation(len(table))]
    classes, codes = np.unique(table.labels, return_inverse=True)
    if needed_by and len(classes) < 2:
        raise SettingsError("data.one-class", needed_by=needed_by, label=str(classes.tolist()[0]))
    return [rng.permutation(np.flatnonzero(codes == code)) for code in range(len(classes))]


def _rows_per_class(groups: list[Rows], rows: int | None) -> int:
    smallest = min(map(len, groups))
    if rows is None:
        return smallest
    if not len(groups) <= rows <= smallest * len(groups):
        why = f"as there are {len(groups)} classes and the smallest has {smallest} rows"
        raise wrong_parameter("rows", "partitions", f"from {len(groups)} to {smallest * len(groups)}, {why}", rows)
    return rows // len(groups)


def _skewed_shares(clients: int, classes: int) -> npt.NDArray[np.float64]:
    """Case 2: what share of each class (columns) each client (rows) gets."""
    owns = np.zeros((clients, classes), dtype=bool)
    for client in range(clients):
        owns[client, [2 * client % classes, (2 * client + 1) % classes]] = True
    owners = owns.sum(axis=0)
    skewed = (owners > 0) & (owners < clients)
    main = np.where(skewed, 0.8 / np.maximum(owners, 1), 1 / clients)
    rest = np.where(skewed, 0.2 / np.maximum(clients - owners, 1), 1 / clients)
    return np.where(owns, main, rest)


def _counts_of_equal_clients(
    sizes: npt.NDArray[np.int_], clients: int, alpha: float, rows: int, rng: np.random.Generator
) -> npt.NDArray[np.int_]:
    left = sizes.copy()
    counts = np.zeros((clients, len(sizes)), dtype=int)
    for client in range(clients):
        shares = rng.dirichlet(np.full(len(sizes), alpha))
        while lacking := rows - counts[client].sum():
            weights = np.where(left > 0, shares, 0)
            if weights.sum() == 0:
                weights = left.astype(float)
            drawn = np.minimum(rng.multinomial(lacking, weights / weights.sum()), left)
            counts[client] += drawn
            left -= drawn
    return counts


def _deal(groups: list[Rows], counts: npt.NDArray[np.int_], rng: np.random.Generator) -> list[Rows]:
    """Deal the rows of each class out by counts[client, class], then shuffle each client's rows."""
    dealt = [np.split(group, np.cumsum(counts[:, k])) for k, group in enumerate(groups)]
    return [rng.permutation(np.concatenate([hands[i] for hands in dealt])) for i in range(len(counts))]


def _divided(table: Table, parts: Iterable[Rows], names: Sequence[str] = ()) -> Partition:
    parts = list(parts)
    width = len(str(len(parts)))
    called = names or [f"client_{place:0{width}d}" for place in range(1, len(parts) + 1)]
    clients = {name: table.take(part).replace(origin=name) for name, part in zip(called, parts, strict=True)}
    return Partition(clients, {name: np.zeros(len(client), dtype=bool) for name, client in clients.items()})


def _corrupted(
    partition: Partition, case: int, noise: str, classes: npt.ArrayLike, rng: np.random.Generator
) -> Partition:
    clients, changed = {}, {}
    shares = np.linspace(0, 0.2, len(partition.clients))
    for (name, client), share in zip(partition.clients.items(), shares.tolist(), strict=True):
        if case == 4:
            clients[name], changed[name] = flip_labels(client, share, classes=np.asarray(classes), seed=rng)
        elif noise == "rows":
            clients[name], changed[name] = add_noise(client, share, seed=rng)
        else:
            clients[name], changed[name] = add_noise(client, 1.0, sigma=share, seed=rng)
    return Partition(clients, changed)
