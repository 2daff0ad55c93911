"""`Valuation`: the result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import did_you_mean
from fedbary.errors import PrivacyError, SettingsError, wrong_parameter
from fedbary.notes import Note
from fedbary.space.schema import Schema
from fedbary.valuation.clients import ClientScores
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.verdict import Advice, Opinion, verdict

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.rows import RowFacts, ScoredRows

    ImageShape = Literal["auto"] | tuple[int, ...] | None

NO_ROW_VALUES = "valuation.no-row-values"
Floats = NDArray[np.float64]
_OUT = (Advice.LEAVE, Advice.NOT_VALUED)


@dataclass(frozen=True, eq=False)
class Valuation:
    """What each client's data is worth; with one owner for all, also what each row is.

    Attributes
    ----------
    clients : DataFrame
        One row per client in the order they were given, see docs/reports.md for its columns. Those that the protocol
        cannot fill are NA; ``status`` is ``ok``, ``failed``, ``refused`` or ``silent``, and ``notes`` says the rest in
        words.
    history : DataFrame
        One row per client and round: ``client, round, client_distance, server_distance, estimate, support``.
    settings : dict
        Protocol, space, seed and versions: enough to repeat the run exactly.
    schema : Schema or None
        The space in which the clients were compared.
    target : array or None
        Points that the clients were compared with: support of the barycenter, or the sketch of the reference (means
        of at least ``min_group`` of its rows, as every client was sent them). Features first, then label coordinates.
    measures : dict
        `Interpolation` with ``keep_measures``: client → γ, η_P and η_Q of its last round, with their weights, by the
        names ``gamma``, ``eta_p``, ``eta_q``, ``gamma_weights``, …; `save` leaves them out.
    outcomes : dict
        Client → `Outcome`: its status and its notes as codes with facts, for programs. In one process notes hold what
        only the owner of the rows may read; ``redacted()`` is what another party would hear.
    scores : ClientScores or None
        `Cards` with ``worth``: the Shapley value of each client, which may be negative; shares follow from it.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.paper_case(fb.datasets.load("digits").train, 5, rows=500, seed=1)
    >>> result = fb.value(parts.clients, fb.datasets.load("digits").test, seed=0)
    >>> result.ranking()["client"].iloc[-1]
    'client_5'
    """

    clients: pd.DataFrame
    history: pd.DataFrame
    settings: dict[str, Any]
    schema: Schema | None = None
    target: Any = None
    notes: tuple[Note, ...] = ()
    scores: ClientScores | None = None
    measures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict, repr=False)
    _rows: Mapping[str, ScoredRows] | None = field(default=None, repr=False)
    _rows_at: str = "the folder that its owner's engine wrote them to"

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"Valuation({len(self.clients)} clients{failed}, protocol {self.settings.get('protocol', 'unknown')!r})"

    def __str__(self) -> str:
        from fedbary.views.tables import valuation_text

        return valuation_text(self)

    def rows(self, client: str) -> pd.DataFrame:
        """Row values of one client, in the order of its rows; a higher ``value`` is better data.

        Raises
        ------
        PrivacyError
            In a real federation: row values stay with their owner.
        """
        return self._scored(client).frame

    def row_facts(self, client: str) -> RowFacts:
        """What the flags of a client's rows promise, and the share of its labels that is estimated to be wrong."""
        return self._scored(client).facts

    def ranking(self) -> pd.DataFrame:
        """`clients`, best first, with a ``rank``; clients that failed come last.

        Clients are ordered by quality where it is estimated, else by Shapley values where there are any, else by share.
        Those that cannot be told apart share a rank, such as ``2–5``.
        """
        import pandas as pd

        keys, low, high = self._order()
        valued = np.array([str(name) not in self.failed for name in self.clients["client"]], dtype=bool)
        # Of a valued client without a number nothing is known, and so it may hold any place.
        low, high = (
            np.where(valued, np.where(np.isnan(end), any_, end), np.nan)
            for end, any_ in ((low, -np.inf), (high, np.inf))
        )
        best_first = np.lexsort([np.where(np.isnan(key), np.inf, -key) for key in reversed(keys)])
        ranked = self.clients.iloc[best_first].reset_index(drop=True)
        ranks = pd.Series(places(low, high), dtype="string")
        ranked.insert(0, "rank", ranks.iloc[best_first].reset_index(drop=True))
        return ranked

    def _order(self) -> tuple[list[Floats], Floats, Floats]:
        """What to sort by, most important first, and the interval in which it lies."""

        def numbers(name: str, otherwise: Floats | float = np.nan) -> Floats:
            column = self.clients[name].to_numpy(dtype=float, na_value=np.nan)
            return np.where(np.isnan(column), otherwise, column)

        share, quality, distance = numbers("share"), numbers("quality"), numbers("distance")
        if not np.isnan(quality).all():
            return [quality, share], numbers("quality_low", quality), numbers("quality_high", quality)
        if self.scores is not None:
            worth = self.scores.intervals()
            none = (np.nan, np.nan, np.nan)
            value, low, high = (
                np.array([worth.get(str(name), none) for name in self.clients["client"]]).reshape(-1, 3).T
            )
            return [value], low, high
        return [share], -numbers("high", distance), -numbers("low", distance)

    def select(self, *, k: int | None = None, share: float | None = None, quality: float | None = None) -> list[str]:
        """Names of the clients to train with, best first: without an argument those that the verdict includes.

        With an argument, clients to look at first may be among them, too; one that the verdict leaves out never is.

        Parameters
        ----------
        k : int
            The k best clients.
        share : float
            The fewest best clients that together hold this part of the shares, in (0, 1].
        quality : float
            All clients with at least this quality; protocol `Sketch`.
        """
        given = [name for name, value in (("k", k), ("share", share), ("quality", quality)) if value is not None]
        if len(given) > 1:
            raise SettingsError("valuation.not-one-criterion", given=" and ".join(given))
        ranked = self.ranking()
        # In the order of the ranking, as the verdict is.
        advice = np.array([opinion.advice for opinion in self.verdict()], dtype=object)
        ranked = ranked[~np.isin(advice, _OUT) if given else advice == Advice.INCLUDE]
        names = [str(name) for name in ranked["client"]]
        if k is not None:
            if k < 1:
                raise wrong_parameter("k", "select", "at least 1", k)
            return names[:k]
        if share is not None:
            if not 0.0 < share <= 1.0:
                raise wrong_parameter("share", "select", "in (0, 1]", share)
            if self.clients["share"].isna().all():
                raise SettingsError("valuation.no-share-to-select")
            together = np.cumsum(ranked["share"].fillna(0.0).to_numpy(dtype=float))
            enough = int(np.searchsorted(together, share * together[-1] - 1e-12)) if len(together) else 0
            return names[: enough + 1]
        if quality is not None:
            if self.clients["quality"].isna().all():
                raise SettingsError("valuation.no-quality")
            return [str(name) for name in ranked["client"][(ranked["quality"] >= quality).fillna(False)]]
        return names

    def nodes(
        self, *, k: int | None = None, share: float | None = None, quality: float | None = None
    ) -> list[int] | list[str]:
        """What their network calls the clients of `select`: ids of Flower's nodes, names of FLARE's sites.

        Raises
        ------
        SettingsError
            If the result was not made over a network.
        """
        ids = self.settings.get("nodes")
        if not ids:
            raise SettingsError("valuation.no-nodes")
        return [ids[name] for name in self.select(k=k, share=share, quality=quality)]

    def weights(self, by: Literal["quality", "share", "rows", "both"] = "quality") -> dict[str, float]:
        """How much each client should count in FedAvg: zero for those that the verdict leaves out or that failed.

        Parameters
        ----------
        by : {"quality", "share", "rows", "both"}
            Rows times quality, so that good rows count alike wherever they are (the share where no quality is
            estimated); the share; the rows; or rows times share.
        """
        if by not in ("quality", "share", "rows", "both"):
            raise wrong_parameter("by", "weights", "'quality', 'share', 'rows' or 'both'", by)
        clients = self.clients
        if by == "quality" and clients["quality"].isna().all():
            by = "share"
        if by in ("share", "both") and clients["share"].isna().all():
            raise SettingsError("valuation.no-share-to-weigh")
        advice = {opinion.client: opinion.advice for opinion in self.verdict()}
        parts = np.array([float(advice[str(name)] not in _OUT) for name in clients["client"]])
        for name in {"quality": ("rows", "quality"), "both": ("rows", "share")}.get(by, (by,)):
            parts = parts * clients[name].fillna(0).to_numpy(dtype=float)
        if not parts.sum() > 0:
            raise SettingsError("valuation.nobody-to-weigh")
        return dict(zip(map(str, clients["client"]), (parts / parts.sum()).tolist(), strict=True))

    def verdict(self) -> tuple[Opinion, ...]:
        """What to do with each client and why, best first, by the rules of `fedbary.valuation.verdict`."""
        return self._opinions

    @cached_property
    def _opinions(self) -> tuple[Opinion, ...]:
        return verdict(self)  # which every table and plot of a report asks for

    @property
    def failed(self) -> dict[str, str]:
        """Clients that could not be valued, with the reason in words."""
        return {name: outcome.text for name, outcome in self.outcomes.items() if not outcome.ok}

    @property
    def predicts_number(self) -> bool:
        """Whether labels are a quantity, not classes."""
        return self.schema is not None and self.schema.label.kind == "number"

    @property
    def without_rows(self) -> tuple[str, ...]:
        """Clients that were valued, but whose rows could not be."""
        return tuple(name for name, outcome in self.outcomes.items() if outcome.ok and outcome.has(NO_ROW_VALUES))

    def report(
        self, path: str | Path, *, client: str | None = None, table: Any = None, images: ImageShape = "auto"
    ) -> Path:
        """Write one self-contained HTML file that works offline.

        Without ``client`` it is the coordinator's report: who to include, who to look at, and why; it holds no row.
        With ``client`` it is that data owner's: its flagged rows, for the owner alone.

        Parameters
        ----------
        path : path
            The HTML file.
        client : str, optional
            Whose rows to report.
        table : Table, (X, y) or DataFrame, optional
            The client's own rows, to show their labels and columns, a map, and thumbnails.
        images : {"auto"}, None or (height, width) or (height, width, channels)
            Whether a block of columns is shown as pictures; ``auto`` decides by its width and values.
        """
        from fedbary.views.coordinator import write_report
        from fedbary.views.owner import write_owner_report

        if client is None:
            return write_report(self, path)
        return write_owner_report(self, path, client=client, table=table, images=images)

    def to_markdown(self) -> str:
        """The verdict and the clients, those with a problem first, as Markdown for an issue or a wiki."""
        from fedbary.views.tables import result_page

        return result_page(self).markdown().rstrip("\n")

    def _repr_html_(self) -> str:
        from fedbary.views.tables import result_page

        return result_page(self, most=50).notebook()

    def save(self, folder: str | Path) -> Path:
        """Write the result to a folder of JSON, CSV and Parquet files; `load` reads it back."""
        from fedbary.valuation.storage import save

        return save(self, folder)

    @classmethod
    def load(cls, folder: str | Path) -> Valuation:
        """Read what `save` wrote."""
        from fedbary.valuation.storage import load

        return load(folder)

    @property
    def row_tables(self) -> Mapping[str, ScoredRows] | None:
        """Row values by client; None where their owners keep them."""
        return self._rows

    def _scored(self, client: str) -> ScoredRows:
        names = [str(name) for name in self.clients["client"]]
        if client not in names:
            raise SettingsError(
                "valuation.no-client", name=client, guess=did_you_mean(client, names), names=tuple(names)
            )
        if self._rows is None:
            raise PrivacyError("valuation.rows-at-their-owner", client=client, place=self._rows_at)
        if client not in self._rows:
            raise SettingsError("valuation.without-rows", client=client, why=why_without_rows(self, client))
        return self._rows[client]


def why_without_rows(result: Valuation, client: str) -> Note | None:
    """Why a client, or its rows, could not be valued; None where nothing went wrong."""
    outcome = result.outcomes[client]
    return next((note for note in outcome.notes if not outcome.ok or note.code == NO_ROW_VALUES), None)


def with_rows(
    result: Valuation, rows: Mapping[str, ScoredRows], missing: Mapping[str, Note] | None = None
) -> Valuation:
    """The same result with row values that its reader holds, and why some clients have none."""
    counted = {name: scored.flagged for name, scored in rows.items()}
    counts = {name: count for name, count in counted.items() if count is not None}
    outcomes = dict(result.outcomes)
    for name, why in (missing or {}).items():
        outcomes[name] = outcomes[name].with_note(Note(NO_ROW_VALUES, {"why": why}))
    return replace(with_outcomes(result, outcomes, flagged=counts), _rows=dict(rows))


def with_outcomes(result: Valuation, outcomes: Mapping[str, Outcome], *, flagged: Mapping[str, int]) -> Valuation:
    """The same result with other outcomes and numbers of flagged rows, in its frame too."""
    import pandas as pd

    names = [str(name) for name in result.clients["client"]]
    clients = result.clients.assign(
        flagged=pd.array([flagged.get(name) for name in names], dtype="Int64"),
        status=pd.array([str(outcomes[name].status) for name in names], dtype="string"),
        notes=pd.array([outcomes[name].text for name in names], dtype="string"),
    )
    return replace(result, clients=clients, outcomes=dict(outcomes))


def with_worth(result: Valuation, scores: ClientScores, notes: Sequence[Note] = ()) -> Valuation:
    """The result with ``worth`` and ``worth_error``; shares are those of the worths above zero."""
    scores = scores.among(tuple(result.clients["client"]))
    said = [*result.notes, *scores.notes, *notes]
    if not (np.nan_to_num(scores.values) > 0).any():
        said.append(Note("valuation.nothing-to-share"))
    clients = result.clients.assign(
        worth=scores.values,
        worth_error=scores.standard_errors,
        share=scores.shares,
        share_low=np.nan,
        share_high=np.nan,
    )
    return replace(result, clients=clients, scores=scores, notes=tuple(said))


def places(low: Floats, high: Floats) -> list[str | None]:
    """Which places each may hold, of a number that is better the higher it is and lies in ``[low, high]``.

    The first is one more than there are others certainly better, the last leaves room for all certainly worse; None
    for whoever has no interval at all.
    """
    known = ~np.isnan(low)
    count = int(known.sum())
    first = 1 + count - np.searchsorted(np.sort(low[known]), high, side="right")
    last = count - np.searchsorted(np.sort(high[known]), low, side="left")
    return [
        None if not here else str(f) if f == z else f"{f}–{z}" for here, f, z in zip(known, first, last, strict=True)
    ]
