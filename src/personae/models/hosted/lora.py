"""LoRA on the base through PEFT (Hu et al. 2022), and adapters as files."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from personae.errors import UserError, nearest

CONFIG, WEIGHTS, BESIDE = "adapter_config.json", "adapter_model.safetensors", "sources.safetensors"
# What PEFT puts before the names of a model that it wraps.
PREFIX = "base_model.model."


def add_lora(base: PreTrainedModel, layers: Sequence[nn.Module], lora: Mapping[str, Any]) -> None:
    """Put low-rank additions, without effect at first, beside linear layers within ``layers``; only they train.

    Raises ``UserError`` for a target that is no linear layer there.
    """
    from peft import LoraConfig, inject_adapter_in_model

    linear = {name: kind for layer in layers for name, kind in linears(layer)}
    targets = list(linear) if lora["targets"] is None else lora["targets"]
    for name in targets:
        if name not in linear:
            raise UserError(
                f"model.options.lora.targets names '{name}'.{nearest(name, linear)} The base has: {', '.join(linear)}"
            )
    config = LoraConfig(
        r=lora["r"],
        lora_alpha=lora["alpha"],
        lora_dropout=lora["dropout"],
        target_modules=list(targets),
        fan_in_fan_out=any(linear[name] is Conv1D for name in targets),
        auto_mapping={"base_model_class": type(base).__name__, "parent_library": type(base).__module__},
        task_type="CAUSAL_LM",
    )
    inject_adapter_in_model(config, base)


def linears(layer: nn.Module) -> Iterable[tuple[str, type[nn.Module]]]:
    """Last names and classes of the linear layers within ``layer``."""
    for name, module in layer.named_modules():
        if isinstance(module, nn.Linear | Conv1D):
            yield name.rpartition(".")[2], type(module)


def merge_lora(base: nn.Module) -> None:
    """Add what was learned to the weights themselves: the same function without additions, for inference."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, child in base.named_children():
        if isinstance(child, BaseTunerLayer):
            child.merge()
            setattr(base, name, child.get_base_layer())
        else:
            merge_lora(child)


def export(base: PreTrainedModel, beside: Mapping[str, Tensor], folder: Path) -> None:
    """Write PEFT's two files, which PEFT itself can load onto the same base, and ``beside`` in a third."""
    from peft import get_peft_model_state_dict

    folder.mkdir(parents=True, exist_ok=True)
    config: Any = base.peft_config
    config["default"].save_pretrained(folder)
    weights = {f"{PREFIX}{key}": value for key, value in get_peft_model_state_dict(base).items()}
    save_file({key: value.contiguous() for key, value in weights.items()}, folder / WEIGHTS)
    save_file({key: value.contiguous() for key, value in beside.items()}, folder / BESIDE)


def read(base: PreTrainedModel, lora: Mapping[str, Any], folder: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights of the adapter in ``folder``, which fit ``base``, and those beside it (may be none).

    Raises ``UserError`` where there is none, or it was made for another base or with other numbers.
    """
    from peft import get_peft_model_state_dict

    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        weights = load_file(folder / WEIGHTS)
        beside = load_file(folder / BESIDE) if (folder / BESIDE).is_file() else {}
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(f"no adapter in {folder}: it should hold {CONFIG} and {WEIGHTS} ({error})") from error
    check_made_for(config, base, lora, folder)
    named = {key.removeprefix(PREFIX): value for key, value in weights.items()}
    check_fit(get_peft_model_state_dict(base), named, folder)
    return named, beside


def put(base: PreTrainedModel, weights: dict[str, Tensor]) -> None:
    """Replace the adapter in ``base`` by ``weights``, as ``read`` returns them."""
    from peft import set_peft_model_state_dict

    set_peft_model_state_dict(base, weights)


def check_made_for(config: Mapping[str, Any], base: PreTrainedModel, lora: Mapping[str, Any], folder: Path) -> None:
    """Refuse an adapter whose description is not that of ``lora`` on ``base``."""
    made_for = (config.get("auto_mapping") or {}).get("base_model_class", type(base).__name__)
    if made_for != type(base).__name__:
        raise UserError(f"the adapter in {folder} was made for another base: {made_for}, not {type(base).__name__}")
    for ours, theirs in (("r", "r"), ("alpha", "lora_alpha")):
        if config.get(theirs) != lora[ours]:
            raise UserError(
                f"the adapter in {folder} has {ours} {config.get(theirs)}, the model {lora[ours]}: "
                f"set model.options.lora.{ours}={config.get(theirs)}"
            )


def check_fit(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], folder: Path) -> None:
    """Refuse weights that are not ``ours`` in name and size."""
    for key in sorted(ours.keys() ^ theirs.keys()):
        where = "it lacks" if key in ours else "there is no place for"
        raise UserError(f"the adapter in {folder} was made for another base or other parts: {where} {key}")
    for key, value in ours.items():
        if theirs[key].shape != value.shape:
            sizes = f"{tuple(theirs[key].shape)} in the adapter and {tuple(value.shape)} here"
            raise UserError(f"the adapter in {folder} was made for another base: {key} is {sizes}")
