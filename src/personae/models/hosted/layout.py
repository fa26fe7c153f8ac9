"""Where a decoder's layers are, found without a table of families. Shapes: B batch, T row, D width."""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils.output_capturing import OutputRecorder

from personae.errors import UserError
from personae.layers.encoder import positions


def layers_of(base: PreTrainedModel) -> list[nn.Module]:
    """The layers of ``base``: the modules of the class that it declares as the one its hidden states come from.

    Raises ``UserError`` for a model that declares none, or has no body of its own beside the head.
    """
    kinds = declared(base)
    found = [module for module in base.modules() if kinds and isinstance(module, kinds)]
    if not found or base.base_model is base or base.get_output_embeddings() is None:
        raise UserError(
            f"'{base.config.model_type}' does not declare its layers to transformers: sources can be added to a "
            f"decoder-only model that does, as llama, qwen2, smollm3, mistral, gpt_neox or gpt2"
        )
    return found


def declared(base: PreTrainedModel) -> tuple[type[nn.Module], ...]:
    """The classes that ``_can_record_outputs`` names for hidden states."""
    named: Any = (base._can_record_outputs or {}).get("hidden_states", [])
    listed = named if isinstance(named, list | tuple) else [named]
    kinds = [each.target_class if isinstance(each, OutputRecorder) else each for each in listed]
    return tuple(kind for kind in kinds if isinstance(kind, type))


@torch.no_grad()
def check_base(base: PreTrainedModel, layers: Sequence[nn.Module], width: int) -> None:
    """Two short rows through ``base``: does it work the way that adding sources takes for granted?

    Every layer should run once, in order, and return (B, T, D) states; the head should run once; a token's logits
    should depend on nothing after it and on no padding. Raises ``UserError`` where they do.
    """
    ids = torch.tensor([[1, 2, 0], [0, 1, 3]], device=base.device)
    mask = torch.tensor([[1, 1, 0], [0, 1, 1]], device=base.device)
    head = base.get_output_embeddings()
    assert head is not None
    ran: list[nn.Module] = []
    shapes: list[torch.Size] = []

    def note(module: nn.Module, _: Any, output: Any) -> None:
        ran.append(module)
        shapes.append(states_of(output).shape)

    hooks = [module.register_forward_hook(note) for module in (*layers, head)]
    training = base.training
    where = {"position_ids": positions(mask)} if takes_positions(base) else {}
    logits: Tensor = base.eval()(ids, attention_mask=mask, **where).logits
    base.train(training)
    for hook in hooks:
        hook.remove()
    once = len(ran) == len(layers) + 1 and all(one is other for one, other in zip(ran, (*layers, head), strict=True))
    if not once or any(shape != (*ids.shape, width) for shape in shapes[:-1]):
        raise UserError(f"'{base.config.model_type}' does not run its layers one after another: {NO_SOURCES}")
    if not torch.allclose(logits[0, 0], logits[1, 1], atol=1e-3 * float(logits.std() + 1e-3)):
        raise UserError(f"'{base.config.model_type}' lets a token see later ones or padding: {NO_SOURCES}")


NO_SOURCES = "sources cannot be added to it; choose another model.options.base, as one of the llama family"


def states_of(output: Any) -> Tensor:
    """The states that a layer returns, alone or with other things behind them."""
    states: Tensor = output[0] if isinstance(output, tuple) else output
    return states


def takes_positions(base: PreTrainedModel) -> bool:
    """Whether ``base`` is told positions; others find them by the mask, or need none."""
    return "position_ids" in inspect.signature(base.forward).parameters
