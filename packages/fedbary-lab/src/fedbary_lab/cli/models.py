"""The models that commands train, by name."""

from __future__ import annotations

from typing import Any

from fedbary.checks import did_you_mean
from fedbary.cli.ui.options import one_of, option
from fedbary.errors import SettingsError
from fedbary_lab.cli.completion import MODELS

MODEL = option("logistic, mlp or cnn.", "NAME", default="logistic", panel="Training", complete=one_of(*MODELS))


def named_model(name: str) -> Any:
    """The model of this name.

    Examples
    --------
    >>> named_model("mlp")
    MLP(hidden=(64,))
    """
    from fedbary_lab.training.models import CNN, MLP, Logistic

    models = dict(zip(MODELS, (Logistic, MLP, CNN), strict=True))
    if name not in models:
        raise SettingsError("cli.no-model", name=name, guess=did_you_mean(name, models), known=", ".join(models))
    return models[name]()
