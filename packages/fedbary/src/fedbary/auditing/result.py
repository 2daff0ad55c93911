"""`Audit`: what a dishonest server reached, as a table, a picture and recommendations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.auditing.finding import EPSILON, FALSE_POSITIVES, MEMBERSHIP, RECONSTRUCTION, Finding
from fedbary.auditing.owner import Defence
from fedbary.data.export import write
from fedbary.notes import Note
from fedbary.views.display import BLUE, GREY, RED, Display, as_text, bar_rows, empty_figure, finite
from fedbary.wording import dash, number

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.views.display import Display

# True positives at one per cent false ones with which an owner may be content.
CONTENT = 0.05
_LOUD_NOISE = 0.1


def recommended(findings: Sequence[Finding], defence: Defence, rows: int) -> tuple[Note, ...]:
    """What to change, most urgent first; a single note where nothing is to be changed."""
    notes = [Note("audit.promise-broken", {"attack": one.attack}) for one in findings if one.holds is False]
    read = {one.what.code: one.value for one in findings if one.kind == RECONSTRUCTION and one.value > 0.0}
    if "audit.repeated-questions" in read:
        notes.append(Note("audit.ask-once", {"share": read["audit.repeated-questions"]}))
    if "audit.card-rows" in read:
        notes.append(Note("audit.guard-cards", {"share": read["audit.card-rows"]}))
    if "audit.averages" in read:
        notes.append(Note("audit.no-reconstruction", {"min_group": int(defence.settings.min_group)}))
    elif "audit.joint-rounds" in read:
        notes.append(Note("audit.fewer-rounds", {"rounds": int(defence.settings.min_group) - 1}))
    found = max((one.value for one in findings if one.kind == MEMBERSHIP), default=0.0)
    epsilon = defence.epsilon
    if epsilon is None and found > CONTENT:
        if hasattr(defence.asked, "epsilon"):
            bound = math.floor(10.0 * math.log(CONTENT / FALSE_POSITIVES)) / 10.0
            noise = 2.0 / (rows * bound) if defence.asked.name == "sketch" else None
            notes.append(Note("audit.use-epsilon", {"epsilon": bound, "share": CONTENT, "noise": noise}))
        else:
            notes.append(Note("audit.use-sketch", {"protocol": defence.asked.name}))
    if defence.asked.name == "sketch" and epsilon is not None and 2.0 / (rows * epsilon) > _LOUD_NOISE:
        notes.append(Note("audit.loud-noise", {"noise": 2.0 / (rows * epsilon), "rows": rows}))
    return tuple(notes) or (Note("audit.nothing-to-change"),)


_STATES = ((True, "promise holds", BLUE), (False, "promise broken", RED), (None, "nothing claimed", GREY))


def audit_picture(table: pd.DataFrame) -> Display:
    """Bars of an audit's table, with intervals and limits; the empirical ε has an axis of its own."""
    return Display("audit", "What each attack reached, with 95 % intervals; marks are promised limits.", table, _draw)


def _draw(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Bar, Scatter

    figure = empty_figure(x="share of rows, or of right answers", height=bar_rows(len(table)) + 60)
    places = np.arange(len(table))
    private = (table["kind"] == EPSILON).to_numpy()
    for state, name, colour in _STATES:
        for axis, chosen in (("x", ~private), ("x2", private)):
            rows = chosen & np.array([holds is state for holds in table["holds"]])
            if not rows.any():
                continue
            part = table[rows]
            high = np.where(np.isfinite(part["high"].astype(float)), part["high"].astype(float), part["value"])
            figure.add_trace(
                Bar(
                    name=name,
                    legendgroup=name,
                    showlegend=axis == "x",
                    orientation="h",
                    x=finite(part["value"]),
                    y=places[rows],
                    xaxis=axis,
                    marker={"color": colour},
                    error_x={
                        "type": "data",
                        "symmetric": False,
                        "array": list(np.maximum(high - part["value"], 0.0)),
                        "arrayminus": list(np.maximum(part["value"] - part["low"], 0.0)),
                    },
                    hovertemplate="%{x:.3f}<extra></extra>",
                )
            )
    for axis, chosen in (("x", ~private), ("x2", private)):
        limits = table[chosen & table["limit"].notna().to_numpy()]
        figure.add_trace(
            Scatter(
                name="promised limit",
                showlegend=axis == "x",
                mode="markers",
                x=finite(limits["limit"]),
                y=list(limits.index),
                xaxis=axis,
                marker={"symbol": "line-ns", "size": 18, "line": {"width": 3, "color": "#1b2430"}},
                hovertemplate="promised: %{x:.3f}<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="overlay",
        showlegend=True,
        xaxis={"domain": [0.0, 0.74], "range": [0, 1.02], "tickformat": ".0%"},
        xaxis2={"domain": [0.8, 1.0], "rangemode": "tozero", "title": {"text": "ε"}, "anchor": "y"},
    )
    figure.update_yaxes(
        tickvals=list(places), ticktext=[as_text(name, 44) for name in table["attack"]], autorange="reversed"
    )
    return figure


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

        made = {"protocol": self.protocol, "setting": self.setting}
        records = []
        for one in self.findings:
            attack, *rest = one.facts().items()
            records.append(dict([attack, *made.items(), *rest]) | {"what": str(one.what)})
        return pd.DataFrame.from_records(records).astype({"holds": object, "limit": float})

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Findings that refute a promise."""
        return tuple(one for one in self.findings if one.holds is False)

    @property
    def worst(self) -> Finding:
        """The membership or reconstruction attack that got most: the largest share of rows read, or found."""
        exposing = [one for one in self.findings if one.kind in (RECONSTRUCTION, MEMBERSHIP)]
        return max(exposing, key=lambda one: one.value)

    @property
    def recommendation(self) -> tuple[Note, ...]:
        """What to change, most urgent first."""
        return recommended(self.findings, self.defence, self.rows)

    def display(self) -> Display:
        """The picture with its table."""
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
                one.facts() | {"what": one.what.to_json(), "high": None if math.isinf(one.high) else one.high}
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
