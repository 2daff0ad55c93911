"""The Flower app that a federation's folder holds, and its run config as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fedbary.deploy.runs import RUN_KEYS
from fedbary.protocols.messages import Scalar

_APP = """\
# FedBary as a Flower app; both sides of it come with the package: flwr run . --run-config 'protocol="cards"'
[project]
name = "fedbary-valuation"
version = "1.0.0"
description = "What each client's data is worth, before training and without anyone handing over data."
license = "Apache-2.0"
dependencies = ["fedbary[flower]"]

[tool.flwr.app]
publisher = "fedbary"

[tool.flwr.app.components]
serverapp = "fedbary_flower.server_app:app"
clientapp = "fedbary_flower.client_app:app"

[tool.flwr.app.config]
"""


def app_project() -> str:
    """The ``pyproject.toml`` that makes a folder a Flower app."""
    return _APP + run_config_text(RUN_KEYS)


def run_config_text(config: Mapping[str, Scalar]) -> str:
    r"""A run config as TOML.

    Examples
    --------
    >>> print(run_config_text({"label": 'the "y"', "resume": True}), end="")
    label = "the \"y\""
    resume = true
    """
    # A text in JSON is one in TOML, too, and so are numbers and truth values.
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in config.items())
