"""bf16 weights laid out once for the CPU's matrix units, for inference. Shapes: I input, O output width."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D


class PackedLinear(nn.Module):
    """y = x W^T + b with W (O, I) packed for oneDNN in bf16; it has no gradient and cannot be saved."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        ops: Any = torch.ops.mkldnn
        self.multiply: Callable[..., Tensor] = ops._linear_pointwise
        # Kept out of buffers: a packed weight is opaque to state_dict().
        self.packed = ops._reorder_linear_weight(weight.detach().to(torch.bfloat16).contiguous(), 1)
        self.bias = None if bias is None else nn.Parameter(bias.detach().to(torch.bfloat16), requires_grad=False)

    def forward(self, states: Tensor) -> Tensor:
        """(..., I) to (..., O)."""
        return self.multiply(states, self.packed, self.bias, "none", [], "")


def can_pack() -> bool:
    """Whether this torch and this CPU have bf16 matrix units and the operations that use packed weights."""
    ops: Any = torch.ops.mkldnn
    there = all(hasattr(ops, name) for name in ("_reorder_linear_weight", "_linear_pointwise"))
    return there and bool(ops._is_mkldnn_bf16_supported())


def pack_linears(module: nn.Module) -> None:
    """Replace every ``Linear`` and ``Conv1D`` inside ``module`` by its packed form, freeing the original."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, PackedLinear(child.weight, child.bias))
        elif isinstance(child, Conv1D):
            setattr(module, name, PackedLinear(cast(Tensor, child.weight).t(), child.bias))
        else:
            pack_linears(child)
