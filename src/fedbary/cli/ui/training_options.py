"""Options of commands that train, so that they are called and explained alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.ui.completion import MODELS, one_of
from fedbary.errors import SettingsError

_PANEL = "Training"

ModelName = Annotated[
    str,
    typer.Option(metavar="NAME", help="logistic, mlp or cnn.", rich_help_panel=_PANEL, autocompletion=one_of(*MODELS)),
]
Rounds = Annotated[int, typer.Option(help="Rounds of FedAvg.", min=1, rich_help_panel=_PANEL)]
LocalEpochs = Annotated[int, typer.Option(help="Local epochs.", min=1, rich_help_panel=_PANEL)]
BatchSize = Annotated[int, typer.Option(help="Rows in a step.", min=1, rich_help_panel=_PANEL)]
LearningRate = Annotated[float, typer.Option(help="Size of a step.", rich_help_panel=_PANEL)]
ClientsPerRound = Annotated[
    int | None, typer.Option(help="Clients drawn in a round. Default: all.", min=1, rich_help_panel=_PANEL)
]


def chosen_model(name: str) -> Any:
    """The model of this name.

    Examples
    --------
    >>> chosen_model("mlp")
    MLP(hidden=(64,))
    """
    from fedbary.research.training import CNN, MLP, Logistic

    models: dict[str, Callable[[], Any]] = {"logistic": Logistic, "mlp": MLP, "cnn": CNN}
    if name not in models:
        raise SettingsError(f"There is no model {name!r}{did_you_mean(name, models)}; there is {', '.join(models)}.")
    return models[name]()
