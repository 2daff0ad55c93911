"""`Valuation`: the result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbary.checks import did_you_mean
from fedbary.errors import PrivacyError, SettingsError
from fedbary.notes import Note
from fedbary.space.schema import Schema
from fedbary.valuation.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.scored_rows import RowFacts, ScoredRows
    from fedbary.valuation.scores import ClientScores
    from fedbary.valuation.verdict import Opinion

    ImageShape = Literal["auto"] | tuple[int, ...] | None

NO_ROW_VALUES = "valuation.no-row-values"
CLIENT_COLUMNS = (
    "client", "rows", "quality", "quality_low", "quality_high", "wrong_labels", "wrong_labels_low", "wrong_labels_high",
    "odd_features", "odd_features_low", "odd_features_high", "blur", "shift", "missing", "worth", "worth_error",
    "share", "share_low", "share_high", "distance", "low", "high", "excess", "closeness", "flagged", "status", "notes",
)  # fmt: skip
HISTORY_COLUMNS = ("client", "round", "client_distance", "server_distance", "estimate", "support")


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
        from fedbary.views.result_tables import valuation_text

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
        from fedbary.valuation.ranking import ranking

        return ranking(self)

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
        from fedbary.valuation.selection import select

        return select(self, k=k, share=share, quality=quality)

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
        from fedbary.valuation.selection import weights

        return weights(self, by)

    def verdict(self) -> tuple[Opinion, ...]:
        """What to do with each client and why, best first, by the rules of `fedbary.valuation.verdict`."""
        return self._opinions

    @cached_property
    def _opinions(self) -> tuple[Opinion, ...]:
        """The verdict, which every table and plot of a report asks for."""
        from fedbary.valuation.verdict import verdict

        return verdict(self)

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
        from fedbary.views.report import write_owner_report, write_report

        if client is None:
            return write_report(self, path)
        return write_owner_report(self, path, client=client, table=table, images=images)

    def to_markdown(self) -> str:
        """The verdict and the clients, those with a problem first, as Markdown for an issue or a wiki."""
        from fedbary.views.result_tables import valuation_markdown

        return valuation_markdown(self)

    def _repr_html_(self) -> str:
        from fedbary.views.result_tables import valuation_html

        return valuation_html(self)

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
