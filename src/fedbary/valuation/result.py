"""`Valuation`: the result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbary.checks import did_you_mean
from fedbary.errors import PrivacyError, SettingsError
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.scores import ClientScores
    from fedbary.valuation.verdict import Opinion

    ImageShape = Literal["auto"] | tuple[int, ...] | None

_NO_ROWS = "no row values:"
CLIENT_COLUMNS = (
    "client", "rows", "distance", "low", "high", "share", "share_low", "share_high",
    "excess", "quality", "flagged", "status",
)  # fmt: skip
HISTORY_COLUMNS = ("client", "round", "client_distance", "server_distance", "estimate", "support")
ROW_COLUMNS = (
    "row", "value", "feature_score", "label_score", "calibrated_gradient", "feature_p", "label_p",
    "p_value", "flag", "reason", "suggested_label",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Valuation:
    """What each client's data is worth; with one owner for all, also what each row is.

    Attributes
    ----------
    clients : DataFrame
        One row per client in the order they were given: ``client, rows, distance, low, high, share,
        share_low, share_high, excess, quality, flagged, status``. Columns that the protocol cannot fill are NA.
    history : DataFrame
        One row per client and round: ``client, round, client_distance, server_distance, estimate, support``.
    settings : dict
        Protocol, space, seed and versions: enough to repeat the run exactly.
    schema : Schema or None
        The space in which the clients were compared.
    target : array or None
        Points that the clients were compared with: support of the barycenter, or the sketch of the reference (means
        of at least ``min_group`` of its rows, as every client was sent them). Features first, then label coordinates.
    scores : ClientScores or None
        Protocol `Coalition`: the Shapley value of each client, which may be negative; shares follow from it.

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
    notes: tuple[str, ...] = ()
    scores: ClientScores | None = None
    _rows: Mapping[str, pd.DataFrame] | None = field(default=None, repr=False)
    _rows_missing: Mapping[str, str] = field(default_factory=dict, repr=False)
    _rows_at: str = "the folder that its owner's engine wrote them to"
    _told: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"Valuation({len(self.clients)} clients{failed}, protocol {self.settings.get('protocol', 'unknown')!r})"

    def rows(self, client: str) -> pd.DataFrame:
        """Row values of one client, worst last in meaning: a higher ``value`` is better data.

        Raises
        ------
        PrivacyError
            In a real federation: row values stay with their owner.
        """
        self._known(client)
        if self._rows is None:
            raise PrivacyError(
                f"The row values of '{client}' never left its owner's machine: they are in {self._rows_at}."
            )
        if client not in self._rows:
            reason = self._rows_missing.get(client) or self.failed.get(client, "none were saved")
            raise SettingsError(f"Client '{client}' has no row values ({reason}).")
        return self._rows[client].copy()

    def ranking(self) -> pd.DataFrame:
        """`clients`, best first; clients that failed come last. Shapley values also order clients without a share."""
        order = self.clients["share"]
        if self.scores is not None:
            order = self.scores.to_frame().set_index("client")["value"].reindex(self.clients["client"])
        places = order.reset_index(drop=True).sort_values(ascending=False, na_position="last", kind="stable").index
        return self.clients.iloc[places].reset_index(drop=True)

    def select(self, *, k: int | None = None, share: float | None = None, quality: float | None = None) -> list[str]:
        """Names of the best clients, best first, by exactly one criterion.

        Parameters
        ----------
        k : int
            The k clients with the largest share.
        share : float
            The fewest best clients that together hold this part of the total, in (0, 1].
        quality : float
            All clients whose rows are at least this clean; protocols `Sketch` and `Consensus`.
        """
        from fedbary.valuation.selection import select

        return select(self, k=k, share=share, quality=quality)

    def weights(self, by: Literal["share", "rows", "both"] = "share") -> dict[str, float]:
        """How much each valued client should count in FedAvg: by its share, its rows, or their product."""
        from fedbary.valuation.selection import weights

        return weights(self, by)

    def verdict(self) -> tuple[Opinion, ...]:
        """What to do with each client and why, best first; the rules are those of `fedbary.valuation.verdict`."""
        from fedbary.valuation.verdict import verdict

        return verdict(self)

    @property
    def failed(self) -> dict[str, str]:
        """Clients that could not be valued, with the reason."""
        frame = self.clients[[str(status).startswith("failed:") for status in self.clients["status"]]]
        return {str(name): str(status) for name, status in zip(frame["client"], frame["status"], strict=True)}

    @property
    def told(self) -> dict[str, str]:
        """Each client's ``status`` in words that may leave its owner's machine: no cell, no file.

        In a federation these are the words that came; where one process held all rows, ``status`` may say more.
        """
        pairs = zip(self.clients["client"], self.clients["status"], strict=True)
        return {str(name): self._told.get(str(name), str(status)) for name, status in pairs}

    def told_as(self, reasons: Mapping[str, tuple[str, str]]) -> Valuation:
        """The same result; for each client a part of its status, and how another party would be told."""
        full = dict(zip(self.clients["client"], self.clients["status"], strict=True))
        told = {name: str(full[name]).replace(reason, safe) for name, (reason, safe) in reasons.items() if reason}
        return replace(self, _told=told)

    @property
    def without_rows(self) -> tuple[str, ...]:
        """Clients that were valued, but whose rows could not be; their ``status`` says why."""
        pairs = zip(self.clients["client"], self.clients["status"], strict=True)
        return tuple(str(name) for name, status in pairs if _NO_ROWS in str(status))

    def with_rows(self, rows: Mapping[str, pd.DataFrame], missing: Mapping[str, str] | None = None) -> Valuation:
        """The same result, with row values that its reader owns, and why some clients have none."""
        import pandas as pd

        known = {name: frame["flag"] for name, frame in rows.items() if frame["flag"].notna().all()}
        flagged = [int(known[name].sum()) if name in known else None for name in self.clients["client"]]
        reasons = missing or {}
        status = [
            f"{text}; {_NO_ROWS} {reasons[name]}" if name in reasons else text
            for name, text in zip(self.clients["client"], self.clients["status"], strict=True)
        ]
        clients = self.clients.assign(flagged=pd.array(flagged, dtype="Int64"), status=pd.array(status, dtype="string"))
        return replace(self, clients=clients, _rows=dict(rows), _rows_missing=dict(missing or {}))

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
        """The ranked clients with their verdict, as a Markdown table for an issue or a wiki."""
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
    def has_rows(self) -> bool:
        """Whether this result's reader holds row values, rather than their owners."""
        return self._rows is not None

    @property
    def row_tables(self) -> Mapping[str, pd.DataFrame]:
        """Row values by client, empty where their owners keep them."""
        return dict(self._rows or {})

    def _known(self, client: str) -> None:
        names = [str(name) for name in self.clients["client"]]
        if client not in names:
            listed = ", ".join(repr(name) for name in names[:8])
            guess = did_you_mean(client, names)
            raise SettingsError(f"There is no client {client!r} in this result{guess}; it has {listed}.")
