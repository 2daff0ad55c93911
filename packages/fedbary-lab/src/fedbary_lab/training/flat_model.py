"""A module as a function of one vector of weights, evaluated for many vectors at once."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedbary.errors import SettingsError
from fedbary_lab.training.backend import Precision, own_randomness, require_torch, torch_dtype
from fedbary_lab.training.federation import Rows
from fedbary_lab.training.models import Model, build_module
from fedbary_lab.training.training_log import Head

if TYPE_CHECKING:
    import torch
    from torch import nn

# Bytes that one batched step works on: beyond the cache, more vectors at once are slower again.
_AT_A_TIME = 16 * 2**20


@dataclass(frozen=True, eq=False)
class FlatModel:
    """A module whose trainable weights are one vector.

    Attributes
    ----------
    module : torch.nn.Module
        Gives the structure; weights that are not trained and constant buffers stay its own.
    layout : dict
        Name and shape of each trainable weight, in the order of the vector.
    initial : tensor, shape (P,)
        θ⁰.
    head : Head or None
        Where the last linear layer lies in the vector.
    activations : int
        Numbers that one row leaves behind for the gradient.
    vectorised : bool
        Whether the module can be evaluated for many vectors at once; otherwise it is one after another.
    random : bool
        Whether it draws random numbers while it is trained, as dropout does.

    Examples
    --------
    >>> import torch
    >>> from fedbary_lab.training.models import MLP
    >>> flat = FlatModel.of(MLP((3,)), width=4, classes=2)
    >>> flat.layout
    {'0.weight': (3, 4), '0.bias': (3,), '2.weight': (2, 3), '2.bias': (2,)}
    >>> flat.logits(torch.zeros(5, flat.size), torch.ones(7, 4)).shape
    torch.Size([5, 7, 2])
    """

    module: nn.Module
    layout: dict[str, tuple[int, ...]]
    initial: torch.Tensor
    head: Head | None = None
    activations: int = 1
    vectorised: bool = True
    random: bool = False

    @classmethod
    def of(cls, model: Model, width: int, classes: int, *, seed: int = 0, dtype: Precision = "float32") -> FlatModel:
        """Build a model and see, on a few rows, that it can be trained here."""
        require_torch()
        import torch

        number = torch_dtype(dtype)
        module = build_module(model, width, classes, seed=seed).to(device="cpu", dtype=number)
        with own_randomness():  # where the model has dropout
            rows = torch.randn(4, width, dtype=number, generator=torch.Generator().manual_seed(0))
            scores = _scores_of(module, rows, classes)
            weights = {name: weight for name, weight in module.named_parameters() if weight.requires_grad}
            if not weights:
                raise SettingsError("research.model-without-weights")
            initial = torch.cat([weight.detach().reshape(-1) for weight in weights.values()])
            layout = {name: tuple(weight.shape) for name, weight in weights.items()}
            draft = cls(module, layout, initial, _find_head(module, layout, classes))
            saved = (_saved_numbers(module, rows) - _saved_numbers(module, rows[:2])) // 2
            return replace(
                draft,
                activations=classes if draft.linear else max(1, saved),
                vectorised=_can_vectorise(draft, rows),
                random=not torch.equal(module.train()(rows), scores),
            )

    @property
    def size(self) -> int:
        """P, the number of weights."""
        return len(self.initial)

    def twin(self) -> FlatModel:
        """A copy for another thread, as evaluating a module puts weights into it."""
        return replace(self, module=copy.deepcopy(self.module))

    @property
    def linear(self) -> bool:
        """Whether the model is one linear layer, whose gradient is written out by hand."""
        from torch import nn

        return type(self.module) is nn.Linear and list(self.layout) == ["weight", "bias"]

    def blocks(self, vectors: torch.Tensor, rows: int) -> Iterator[slice]:
        """Cut a batch of vectors into parts that are worked on at once with this many rows."""
        numbers = 4 * self.size + rows * self.activations
        step = max(1, _AT_A_TIME // (vectors.element_size() * numbers)) if self.vectorised else 1
        return (slice(start, start + step) for start in range(0, len(vectors), step))

    def logits(self, vectors: torch.Tensor, rows: torch.Tensor, *, training: bool = False) -> torch.Tensor:
        """Scores (B, n, classes) of n shared rows under each of B vectors; ``training`` switches dropout on."""
        import torch

        if self.linear:
            weight, bias = self.split_linear(vectors)
            scores = (weight.reshape(-1, weight.shape[2]) @ rows.T).reshape(*bias.shape, len(rows))
            return (scores + bias[:, :, None]).transpose(1, 2)
        self.module.train(training)
        if not self.vectorised:
            return torch.stack([self._scores(vector, rows) for vector in vectors])
        # The same dropout for all vectors: a coalition must not depend on which others are trained beside it.
        return torch.func.vmap(self._scores, in_dims=(0, None), randomness="same")(vectors, rows)

    def split_linear(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (B, classes, width) and biases (B, classes) of a linear model."""
        classes, width = self.layout["weight"]
        weight, bias = vectors[:, : classes * width], vectors[:, classes * width :]
        return weight.reshape(-1, classes, width), bias

    def _scores(self, vector: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        import torch
        from torch.func import functional_call

        parts = torch.split(vector, [math.prod(shape) for shape in self.layout.values()])
        weights = {name: part.view(shape) for (name, shape), part in zip(self.layout.items(), parts, strict=True)}
        scores: torch.Tensor = functional_call(self.module, weights, (rows,))
        return scores


def as_tensors(rows: Rows, dtype: Precision) -> tuple[torch.Tensor, torch.Tensor]:
    """Features in this precision, and codes.

    Examples
    --------
    >>> as_tensors(Rows([[0.0, 1.0]], [0]), "float32")
    (tensor([[0., 1.]]), tensor([0]))
    """
    import torch

    return torch.tensor(rows.features, dtype=torch_dtype(dtype)), torch.tensor(rows.codes, dtype=torch.int64)


def _scores_of(module: nn.Module, rows: torch.Tensor, classes: int) -> torch.Tensor:
    """Scores; refuses a module that gives no class scores, or that remembers what it has seen, as batch norm does."""
    import torch

    module.train()
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        with torch.no_grad():
            scores = module(rows)
    except (RuntimeError, ValueError, TypeError) as error:
        raise SettingsError("research.model-takes-other-rows", width=int(rows.shape[1]), why=str(error)) from error
    changed = [name for name, buffer in module.named_buffers() if not torch.equal(before.get(name, buffer), buffer)]
    if changed:
        raise SettingsError("research.model-changes-buffer", buffer=changed[0])
    if not isinstance(scores, torch.Tensor) or scores.shape != (len(rows), classes):
        got = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise SettingsError("research.model-gives-other-scores", got=str(got), rows=len(rows), classes=int(classes))
    return scores


def _saved_numbers(module: nn.Module, rows: torch.Tensor) -> int:
    """How many numbers PyTorch keeps for the gradient of these rows."""
    from torch.autograd.graph import saved_tensors_hooks

    sizes: list[int] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.numel())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        module(rows)
    return sum(sizes)


def _can_vectorise(draft: FlatModel, rows: torch.Tensor) -> bool:
    """Whether `vmap` knows every operation of the module, forwards and backwards."""
    import torch

    vectors = draft.initial.repeat(2, 1).requires_grad_()
    try:
        with warnings.catch_warnings():
            # PyTorch warns where it would loop over the vectors, which is no faster than doing so here.
            warnings.simplefilter("error", UserWarning)
            torch.autograd.grad(draft.logits(vectors, rows, training=True).sum(), vectors)
    except (RuntimeError, NotImplementedError, UserWarning):
        return False
    return True


def _find_head(module: nn.Module, layout: dict[str, tuple[int, ...]], classes: int) -> Head | None:
    """The last linear layer with one unit per class."""
    from torch import nn

    starts: dict[str, int] = {}
    start = 0
    for name, shape in layout.items():
        starts[name], start = start, start + math.prod(shape)
    found = None
    for prefix, layer in module.named_modules():
        weight, bias = (f"{prefix}.{part}" if prefix else part for part in ("weight", "bias"))
        if isinstance(layer, nn.Linear) and layer.out_features == classes and weight in starts:
            found = Head(starts[weight], classes, layer.in_features, starts.get(bias, -1))
    return found
