"""Where a reply looked, token by token of its sources or of its prompt; recorded only while someone asks.

Shapes: B batch, T tokens of a pass, S source tokens, L layers, N voices.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from personae.evidence.shares import Recorder, layer_shares
from personae.fusion import View
from personae.layers.blocks import AskSource
from personae.layers.memory import Encoded

EAGER = "eager"


class TextRecorder(Recorder):
    """A ``Recorder`` that also splits each source's share over the tokens of that source.

    In layer l token j of source s gets r_l,s a_l,s(j): r_l,s is the source's part of the layer's contributions, as
    in ``Evidence``, and a_l,s(j) the attention weight, the mean over heads; summed over layers, tokens add up to
    the share of their source. The fused kernel of the normal path returns no weights: they are computed once more,
    while this is active. Where a fusion asks a source more than once, a_l,s is the mean.
    """

    def __init__(self, model: nn.Module, names: Sequence[str]) -> None:
        super().__init__(model, names)
        self.asks = [module for module in model.modules() if isinstance(module, AskSource)]
        self.split: list[Tensor] | None = None
        self._asked: list[list[Tensor]] = []
        self._looks: list[list[list[Tensor]]] = []

    def __enter__(self) -> "TextRecorder":
        super().__enter__()
        self._hooks += [ask.register_forward_hook(self._watch) for ask in self.asks]
        return self

    def _watch(self, ask: AskSource, given: tuple[Tensor, Encoded, nn.Module | None], view: View) -> View:
        """``view`` with its two ways of asking noted."""
        weigh = partial(ask.attention.weights, source=given[1], bridge=given[2])
        noted: list[Tensor] = []
        self._asked.append(noted)
        return replace(view, attend=noting(view.attend, weigh, noted), heads=noting(view.heads, weigh, noted))

    def _note(self, module: nn.Module, given: Any, contributions: Sequence[Tensor]) -> None:
        super()._note(module, given, contributions)
        self._looks.append(self._asked)
        self._asked = []

    def _close(self, *given: Any) -> None:
        layers = layer_shares(torch.stack(self._layers))
        self.split, self._looks = split(layers, self._looks), []
        super()._close(*given)


def noting(ask: Callable[[Tensor], Any], weigh: Callable[[Tensor], Tensor], noted: list[Tensor]) -> Any:
    """``ask`` that notes where it looked."""

    def asked(query: Tensor) -> Any:
        noted.append(weigh(query))
        return ask(query)

    return asked


def split(layers: Tensor, looks: Sequence[Sequence[Sequence[Tensor]]]) -> list[Tensor] | None:
    """Per source its share by token, (B, T, S), from what layers add to shares (L, B, T, N) and where they looked.

    ``looks`` holds per layer and source the weights (B, T, S) of each time it was asked. None where a layer asked
    none of its sources: its fusion pools them, and no token stands out.
    """
    if any(not looked for layer in looks for looked in layer) or not all(looks):
        return None
    sources = len(looks[0])
    own = layers.shape[-1] - sources  # voices before the sources: the reply's own
    return [
        sum(
            (
                part[..., own + at, None] * torch.stack(list(layer[at])).mean(0)
                for part, layer in zip(layers, looks, strict=True)
            ),
            start=torch.zeros(()),
        )
        for at in range(sources)
    ]


class PromptRecorder:
    """For a model without sources: where the self-attention of its decoder looks in prompt and reply.

    ``weights`` is (B, T, T) after a pass, the mean over heads and layers: row t is where position t looks. None
    where the decoder gives no weights away. transformers returns them from its plain kernel only, so while this
    is active the decoder uses that one.
    """

    def __init__(self, model: nn.Module) -> None:
        self.attentions = [each for each in model.modules() if hasattr(each, "layer_idx") and hasattr(each, "config")]
        self.weights: Tensor | None = None
        self._layers: list[Tensor] = []

    def __enter__(self) -> "PromptRecorder":
        self._stack = ExitStack()
        for config in {id(each.config): each.config for each in self.attentions}.values():
            self._stack.enter_context(plain_kernel(config))
        for module in self.attentions:
            self._stack.callback(module.register_forward_hook(self._note).remove)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if self._layers:
            self.weights = torch.stack(self._layers).mean(0)

    def _note(self, _: nn.Module, __: Any, output: Any) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if isinstance(weights, Tensor) and weights.dim() == 4:
            self._layers.append(weights.float().mean(1))


@contextmanager
def plain_kernel(config: Any) -> Iterator[None]:
    """While active, attention modules of ``config`` use the kernel that returns its weights."""
    before = config._attn_implementation
    config._attn_implementation = EAGER
    try:
        yield
    finally:
        config._attn_implementation = before
