"""Models to train: three ready-made ones, and whatever `torch.nn.Module` a user has."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, Union

from fedbary.errors import SettingsError, wrong_parameter
from fedbary_lab.training.backend import own_randomness, require_torch

if TYPE_CHECKING:
    from torch import nn

# What is trained: a ready-made model, a function (width, classes) -> module, or a module with its own weights.
Model: TypeAlias = Union["Logistic", "MLP", "CNN", "Callable[[int, int], nn.Module]", "nn.Module"]


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression: one linear layer.

    Examples
    --------
    >>> Logistic().build(784, 10, seed=0)
    Linear(in_features=784, out_features=10, bias=True)
    """

    def build(self, width: int, classes: int, seed: int = 0) -> nn.Module:
        """The layer, with PyTorch's initial weights for this seed."""
        require_torch()
        from torch import nn

        return _seeded(lambda: nn.Linear(width, classes), seed)


@dataclass(frozen=True)
class MLP:
    """Layers of rectified units, then a linear one.

    Parameters
    ----------
    hidden : tuple of int
        Units of each hidden layer.

    Examples
    --------
    >>> sum(p.numel() for p in MLP(hidden=(32,)).build(64, 10).parameters())
    2410
    """

    hidden: tuple[int, ...] = (64,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", _sizes(self.hidden, "hidden", "MLP"))

    def build(self, width: int, classes: int, seed: int = 0) -> nn.Module:
        """The network, with PyTorch's initial weights for this seed."""
        require_torch()
        from torch import nn

        def make() -> nn.Module:
            sizes = (width, *self.hidden)
            layers = [(nn.Linear(into, out), nn.ReLU()) for into, out in pairwise(sizes)]
            return nn.Sequential(*(part for pair in layers for part in pair), nn.Linear(sizes[-1], classes))

        return _seeded(make, seed)


@dataclass(frozen=True)
class CNN:
    """3 × 3 convolutions, each followed by rectified units and 2 × 2 maximum pooling, then a linear layer.

    Parameters
    ----------
    channels : tuple of int
        Channels of each convolution.
    shape : tuple of int, optional
        ``(height, width)`` or ``(height, width, colours)`` of a row, in the order that `Table.from_arrays` flattens
        images. Default: square and grey, or else square with three colours (64 → 8 × 8, 784 → 28 × 28,
        3072 → 32 × 32 × 3).

    Examples
    --------
    >>> CNN(channels=(4,)).build(64, 10)[-1]
    Linear(in_features=64, out_features=10, bias=True)
    """

    channels: tuple[int, ...] = (8, 16)
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", _sizes(self.channels, "channels", "CNN"))
        if self.shape is not None:
            shape = _sizes(self.shape, "shape", "CNN")
            if len(shape) not in (2, 3):
                raise wrong_parameter("shape", "CNN", "(height, width) or (height, width, colours)", self.shape)
            object.__setattr__(self, "shape", shape)

    def build(self, width: int, classes: int, seed: int = 0) -> nn.Module:
        """The network, with PyTorch's initial weights for this seed."""
        require_torch()
        from torch import nn

        from fedbary_lab.training.images import Planes

        height, breadth, colours = self._image(width)

        def make() -> nn.Module:
            sizes, shrunk = (colours, *self.channels), 2 ** len(self.channels)
            layers = [(nn.Conv2d(into, out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)) for into, out in pairwise(sizes)]
            flat = sizes[-1] * (height // shrunk) * (breadth // shrunk)
            return nn.Sequential(
                Planes(height, breadth, colours),
                *(part for group in layers for part in group),
                nn.Flatten(),
                nn.Linear(flat, classes),
            )

        return _seeded(make, seed)

    def _image(self, width: int) -> tuple[int, int, int]:
        """Height, width and colours of a row of this many numbers."""
        if self.shape is not None:
            height, breadth, colours = (*self.shape, 1)[:3]
            if height * breadth * colours != width:
                raise SettingsError(
                    "research.image-shape",
                    width=int(width),
                    shape=str(self.shape),
                    needed=int(height * breadth * colours),
                )
        else:
            colours = 1 if math.isqrt(width) ** 2 == width else 3
            height = breadth = math.isqrt(width // colours)
            if height * breadth * colours != width:
                raise SettingsError("research.no-square-image", width=int(width))
        if min(height, breadth) < 2 ** len(self.channels):
            raise SettingsError(
                "research.images-too-small", height=int(height), width=int(breadth), times=len(self.channels)
            )
        return height, breadth, colours


def build_module(model: Model, width: int, classes: int, *, seed: int = 0) -> nn.Module:
    """Build what the user asked for; the same seed gives the same initial weights.

    A module is copied and keeps its own weights as the initial ones, so that the seed has no say in them.

    Examples
    --------
    >>> from torch import nn
    >>> build_module(lambda width, classes: nn.Sequential(nn.Tanh(), nn.Linear(width, classes)), 4, 2)[1]
    Linear(in_features=4, out_features=2, bias=True)
    """
    require_torch()
    from torch import nn

    if isinstance(model, Logistic | MLP | CNN):
        return model.build(width, classes, seed)
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    # The class itself instead of Logistic() is a slip; any other class may well be a user's module.
    ready: tuple[object, ...] = (Logistic, MLP, CNN)
    if not callable(model) or model in ready:
        raise wrong_parameter(
            "model",
            "the training",
            "Logistic(), MLP(), CNN(), a torch.nn.Module, or a function (width, classes) that makes one",
            model,
        )
    module = _seeded(lambda: model(width, classes), seed)
    if not isinstance(module, nn.Module):
        raise SettingsError("research.model-function", got=type(module).__name__)
    return copy.deepcopy(module)


def _seeded(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Make a module with random weights of this seed, without touching anyone else's randomness."""
    import torch

    with own_randomness():
        torch.manual_seed(seed)
        return make()


def _sizes(values: tuple[int, ...], name: str, owner: str) -> tuple[int, ...]:
    whole = isinstance(values, tuple | list) and all(isinstance(v, int) and v > 0 for v in values)
    if not whole or not values:
        raise wrong_parameter(name, owner, "a tuple of positive whole numbers", values)
    return tuple(values)
