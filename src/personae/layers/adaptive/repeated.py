"""A product with the same weight at every step, whose gradient costs one product for all steps.

Left to autograd, each step adds a gradient as large as the weight to the sum so far, and for thin products the adding
takes longer than the multiplying. Shapes: G groups, N rows of a step, I input, O output width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Repeated:
    """Multiplies (G, N, I), step by step, with ``weight`` (G, I, O).

    Once for all steps the weight is cast, under autocast, and where there will be a gradient laid out as forward and
    as backward read it fastest.
    """

    def __init__(self, weight: Tensor) -> None:
        kind = weight.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
        self.pairs: list[tuple[Tensor, Tensor]] = []
        self.tracked = weight.requires_grad and torch.is_grad_enabled()
        self.weight = weight.to(dtype)
        if self.tracked:
            self.weight = _Weight.apply(weight, dtype, self)  # type: ignore[no-untyped-call]
            self.back = weight.detach().to(dtype).mT.contiguous()

    def __call__(self, inputs: Tensor) -> Tensor:
        """(G, N, O)."""
        if not self.tracked:
            return inputs.to(self.weight.dtype) @ self.weight
        product: Tensor = _Product.apply(inputs, self.weight, self)  # type: ignore[no-untyped-call]
        return product

    def gradient(self) -> Tensor | None:
        """That of the weight, from all steps that had one; none are left after it."""
        if not self.pairs:
            return None
        inputs, outputs = (torch.cat(parts, dim=1) for parts in zip(*self.pairs, strict=True))
        self.pairs = []
        return inputs.mT @ outputs


class _Weight(torch.autograd.Function):
    """The weight as it is; its backward runs after those of all products, which hand it nothing."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, dtype: torch.dtype, products: Repeated) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.products, ctx.dtype = products, weight.dtype
        return weight.to(dtype, copy=True, memory_format=torch.contiguous_format)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor | None) -> tuple[Tensor | None, None, None]:
        found = ctx.products.gradient()
        return (None if found is None else found.to(ctx.dtype)), None, None


class _Product(torch.autograd.Function):
    """One step's product; its backward notes what the weight's gradient will be made of."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, products: Repeated) -> Tensor:
        ctx.products, ctx.dtype = products, inputs.dtype
        inputs = inputs.to(weight.dtype)
        ctx.save_for_backward(inputs)
        return inputs @ weight

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (inputs,) = ctx.saved_tensors
        ctx.products.pairs.append((inputs, gradient))
        return (gradient @ ctx.products.back).to(ctx.dtype), None, None
