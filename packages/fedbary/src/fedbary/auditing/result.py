"""`Audit`: what a dishonest server reached, as a table, a picture and recommendations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.auditing.finding import Finding
from fedbary.auditing.owner import Defence
from fedbary.auditing.recommendation import recommended
from fedbary.data.export import write
from fedbary.notes import Note
from fedbary.wording import dash, number

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots.display import Display


@dataclass(frozen=True, eq=False)
class Audit:
    """What a dishonest server reached, attack by attack.

    Parameters
    ----------
    findings : tuple of Finding
        In the order in which the attacks were played.
    defence : Defence
        The settings that were asked for, and the policy.
    rows : int
        Rows of the owner that were attacked.
    trials : int
        Owners of each kind that a game showed to the server.
    """

    findings: tuple[Finding, ...]
    defence: Defence
    rows: int
    trials: int

    @property
    def protocol(self) -> str:
        """The protocol that was attacked."""
        return str(self.defence.asked.name)

    @property
    def setting(self) -> str:
        """What the owner relies on, in a few words."""
        settings, epsilon = self.defence.settings, self.defence.epsilon
        if epsilon is not None:
            words = f"ε = {epsilon:g}"
        elif hasattr(settings, "policy"):
            words = str(settings.policy)
        elif getattr(settings, "allow_reconstruction", False):
            words = "allow_reconstruction"
        else:
            rounds = getattr(settings, "rounds", None)
            words = f"min_group = {settings.min_group}" + ("" if rounds is None else f", {rounds} rounds")
        return words if self.defence.policy is not None else f"{words}, unguarded"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One line for each attack: what it measures, its value with a 95 % interval, the promise, and if it holds."""
        import pandas as pd

        records = [
            {
                "attack": one.attack,
                "protocol": self.protocol,
                "setting": self.setting,
                "kind": one.kind,
                "what": str(one.what),
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "limit": math.nan if one.limit is None else one.limit,
                "holds": one.holds,
            }
            for one in self.findings
        ]
        return pd.DataFrame.from_records(records).astype({"holds": object})

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Findings that refute a promise."""
        return tuple(one for one in self.findings if one.holds is False)

    @property
    def worst(self) -> Finding:
        """The membership or reconstruction attack that got most: the largest share of rows read, or found."""
        return max((one for one in self.findings if one.exposing), key=lambda one: one.value)

    @property
    def recommendation(self) -> tuple[Note, ...]:
        """What to change, most urgent first."""
        return recommended(self.findings, self.defence, self.rows)

    def display(self) -> Display:
        """The picture with its table."""
        from fedbary.auditing.picture import audit_picture

        return audit_picture(self.table)

    def plot(self) -> Any:
        """The picture as a Plotly figure."""
        return self.display().plot()

    def to_markdown(self, *, header: bool = True) -> str:
        """The table for a page; without its header it continues another one."""
        columns = ("protocol", "setting", "attack", "value", "95 % interval", "promised", "holds")
        lines = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)] if header else []
        lines += [f"| {' | '.join((self.protocol, self.setting, *line))} |" for line in self.lines()]
        return "\n".join(lines)

    def lines(self) -> Iterator[tuple[str, ...]]:
        """Attack, value, interval, promise, and whether that holds, in words."""
        for one in self.findings:
            interval = f"{number(one.low)} – {'∞' if math.isinf(one.high) else number(one.high)}"
            promised = "not claimed" if one.limit is None else number(one.limit)
            yield one.attack, number(one.value), interval, promised, dash(one.holds) if one.holds is not None else "–"

    def to_json(self) -> dict[str, Any]:
        """Everything in JSON's own types."""
        return {
            "protocol": self.protocol,
            "setting": self.setting,
            "rows": self.rows,
            "trials": self.trials,
            "worst": {"attack": self.worst.attack, "value": self.worst.value},
            "findings": [
                {
                    "attack": one.attack,
                    "kind": one.kind,
                    "what": one.what.to_json(),
                    "value": one.value,
                    "low": one.low,
                    "high": None if math.isinf(one.high) else one.high,
                    "limit": one.limit,
                    "holds": one.holds,
                }
                for one in self.findings
            ],
            "recommendation": [note.to_json() for note in self.recommendation],
        }

    def save(self, folder: str | Path) -> dict[str, str]:
        """Write ``audit.csv``, ``audit.json``, ``audit.md`` and the picture ``audit.html``; returns where they are."""
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        files = {kind: home / f"audit.{kind}" for kind in ("csv", "json", "md", "html")}
        write(self.table, files["csv"])
        files["json"].write_text(json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        files["md"].write_text(self.to_markdown() + "\n", encoding="utf-8")
        self.display().save(files["html"])
        return {kind: str(file) for kind, file in files.items()}

    def __repr__(self) -> str:
        worst, broken = self.worst, len(self.broken)
        return (
            f"Audit({self.protocol}, {self.setting}: {len(self.findings)} attacks, {broken} broken promises, "
            f"worst: {worst.attack} {worst.value:.2f})"
        )
