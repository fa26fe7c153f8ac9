"""How fast adaptive LSTMs are, beside torch.nn.LSTM of the same size.

    python benchmarks/recurrent.py --out benchmarks/results/recurrent.json

One JSON line on stdout, progress on stderr. What is timed is forward and backward of two layers at the sizes of Cai et
al. 2019: input and hidden width 300, xi and factors 128, five topics, rows of 30 without padding. ``_bi``: two
directions, as in the encoder; ``_uni``: one, as in the decoder. Every parameterisation meets torch.nn.LSTM in turn.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import torch
from common import Variant
from torch import nn

from personae.layers.adaptive import AdaptiveLSTM, Given, Parameterisation

PAPER = {"inputs": 300, "hidden": 300, "context": 300, "xi": 128, "topics": 5, "factors": 128, "squeeze": 32}
TINY = {"inputs": 6, "hidden": 5, "context": 5, "xi": 4, "topics": 3, "factors": 3, "squeeze": 2}
LENGTH, LAYERS, TORCH = 30, 2, "torch"
WAYS = {"bi": True, "uni": False}
KINDS = ("plain", "context", "topic", "both", "context-published", "topic-published", "both-published")
# Seconds over those of torch.nn.LSTM, two directions.
AIMS = {"context": 1.1, "topic": 0.7, "both": 3.3}


class Pass:
    """Forward and backward on one batch, the same every time."""

    def __init__(self, size: dict[str, int], name: str, batch: int, dtype: str, both: bool) -> None:
        torch.manual_seed(common.SEED)
        self.autocast = torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16")
        self.inputs = torch.randn(batch, LENGTH, size["inputs"], requires_grad=True)
        self.given = Given(torch.randn(batch, size["context"]), torch.randn(batch, size["topics"]).softmax(-1))
        self.model = build(size, name, both).train()

    def __call__(self) -> None:
        """Forward, backward, gradients dropped."""
        with self.autocast:
            found = (
                self.model(self.inputs)
                if isinstance(self.model, nn.LSTM)
                else self.model(self.inputs, None, self.given)
            )
        found[0].float().sum().backward()
        self.model.zero_grad()


def build(size: dict[str, int], name: str, both: bool) -> nn.Module:
    """torch.nn.LSTM, or the stack of a parameterisation."""
    if name == TORCH:
        return nn.LSTM(size["inputs"], size["hidden"], LAYERS, batch_first=True, bidirectional=both)
    others = {key: value for key, value in size.items() if key not in ("inputs", "hidden")}
    stack = AdaptiveLSTM(name, size["inputs"], size["hidden"], LAYERS, both, **others)
    for layer in stack.layers:
        layer.initialise()
    return stack


def row(options: argparse.Namespace, size: dict[str, int], batch: int, dtype: str) -> dict[str, Any]:
    """Everything about one batch size and dtype."""
    times: common.Times = {}
    pairs: dict[str, tuple[str, str]] = {}
    for way, both in WAYS.items():
        names = {f"{name}_{way}": Pass(size, name, batch, dtype, both) for name in (*options.kinds, TORCH)}
        variants = {name: Variant(run) for name, run in names.items()}
        times |= common.side_by_side(variants, options.repeats, f"batch {batch} {dtype}")
        pairs |= {f"{name}_{way}_over_torch": (f"{name}_{way}", f"{TORCH}_{way}") for name in options.kinds}
    return {"batch": batch, "dtype": dtype, **common.ratios(times, pairs), **common.seconds(times)}


def parameters(size: dict[str, int], kinds: Sequence[str]) -> dict[str, int]:
    """Of two layers with two directions."""
    return {name: sum(one.numel() for one in build(size, name, True).parameters()) for name in (*kinds, TORCH)}


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="widths of some units, to try the script")
    parser.add_argument("--kinds", nargs="+", choices=Parameterisation.names(), default=list(KINDS))
    parser.add_argument("--batches", type=int, nargs="+", default=[32])
    parser.add_argument("--dtypes", choices=list(common.DTYPES), nargs="+", default=list(common.DTYPES))
    parser.add_argument("--repeats", type=int, default=5, help="timed repetitions of every variant")
    parser.add_argument("--out", type=Path, help="keep the JSON line in this file too")
    return parser.parse_args()


def main() -> None:
    """Measure and report."""
    options = parse()
    size = TINY if options.tiny else PAPER
    result = {
        "benchmark": "recurrent",
        "size": "tiny" if options.tiny else "paper",
        **common.circumstances(),
        "parameters": parameters(size, options.kinds),
        "repeats": options.repeats,
        "bf16_means": "autocast; weights and gradients are fp32",
        "length": LENGTH,
        "aims": {f"{name}_bi_over_torch": aim for name, aim in AIMS.items() if name in options.kinds},
    }
    result["rows"] = [row(options, size, batch, dtype) for dtype in options.dtypes for batch in options.batches]
    common.report(result, options.out)


if __name__ == "__main__":
    main()
