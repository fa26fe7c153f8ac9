"""How fast PAA trains, beside DirectSUM and plain GPT-2.

    python benchmarks/training.py --out benchmarks/results/training.json
    python benchmarks/training.py --fusions all --no-memory --out benchmarks/results/training-fusions.json
    python benchmarks/training.py --fusions all --count --out benchmarks/results/training-counted.json

One JSON line on stdout, progress on stderr. `docs/performance.md` says what is measured. A step is forward,
backward, clipping and the optimiser that transformers' Trainer takes. Variants: paa; sum: the same model with
fusion `sum`; gpt2: HF's GPT-2 with as many parameters, on persona, context, begin token and reply as one row,
loss on the reply. Models meet in pairs, since three optimisers do not fit in a small memory. With ``--fusions``
every fusion named meets ``sum`` instead (``all``: every one that takes two sources). ``--count`` counts a step's
matrix operations and parameters instead of timing it: the same on every machine.
"""

import argparse
import math
from collections.abc import Sequence
from typing import Any

import common
import torch
from common import Size, Variant
from torch.utils.flop_counter import FlopCounterMode

from personae.fusion import Fusion

PAIRS = {"paa_over_sum": ("paa", "sum"), "paa_over_gpt2": ("paa", "gpt2")}
VARIANTS = ("paa", "sum", "gpt2")
AIM = 1.05  # seconds of a step over those with ``sum``
CLIP = 0.1  # the paper's


class Step:
    """One training step on one batch, the same every time."""

    def __init__(self, size: Size, name: str, batch: int, dtype: str) -> None:
        self.autocast = torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16")
        examples = common.packed(size, batch)
        collate = common.collator(size)
        if name == "gpt2":
            self.inputs = collate(common.concatenated(examples))
            del self.inputs["sources"]
        else:
            self.inputs = collate(examples)
        self.model = (common.plain(size) if name == "gpt2" else common.fused(size, name)).train()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=8e-6, fused=True)

    def operations(self) -> int:
        """Floating-point operations of the matrix products of one forward and backward pass."""
        with FlopCounterMode(display=False) as counter:
            self()
        return int(counter.get_total_flops())

    def __call__(self) -> None:
        """Forward, backward, clip, optimiser."""
        self.optimiser.zero_grad()
        with self.autocast:
            loss = self.model(**self.inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimiser.step()
        assert math.isfinite(loss.item()), "the loss is not finite"


def against_sum(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A pair with ``sum`` for each fusion."""
    kinds = {name: Fusion.get(name) for name in Fusion.names()}
    two = [name for name, kind in kinds.items() if kind.arity in (None, 2) and kind.least <= 2 and name != "sum"]
    return {f"{name}_over_sum": (name, "sum") for name in (two if list(names) == ["all"] else names)}


def counted(size: Size, names: Sequence[str], batch: int) -> dict[str, Any]:
    """Operations of a step and parameters of every fusion over those of ``sum``."""
    operations = {}
    for name in names:
        operations[name] = Step(size, name, batch, "fp32").operations()
        common.say(f"batch {batch} {name}: {operations[name]:.4g} operations")
    weights = common.parameters(size, names)
    return {
        "batch": batch,
        "operations": operations,
        "operations_over_sum": {name: round(operations[name] / operations["sum"], 4) for name in names},
        "parameters_over_sum": {name: round(weights[name] / weights["sum"], 4) for name in names},
    }


def pair(options: argparse.Namespace, size: Size, names: Sequence[str], batch: int, dtype: str) -> common.Times:
    """Times of two models side by side."""
    variants = {name: Variant(Step(size, name, batch, dtype)) for name in names}
    return common.side_by_side(variants, options.repeats, f"batch {batch} {dtype}")


def row(options: argparse.Namespace, size: Size, batch: int, dtype: str) -> dict[str, Any]:
    """Everything about one batch size and dtype."""
    peaks = {name: peak(options, batch, dtype, name) for name in VARIANTS} if options.memory else {}
    examples = common.packed(size, batch)
    ratios: dict[str, Any] = {"ratios": {}, "cpu_ratios": {}}
    times: common.Times = {}
    for name, names in options.pairs.items():
        measured = pair(options, size, names, batch, dtype)
        for kind, found in common.ratios(measured, {name: names}).items():
            ratios[kind].update(found)
        times.update({model: times.get(model, []) + runs for model, runs in measured.items()})
    read = sum(example.length for example in common.concatenated(examples))
    taken = common.seconds(times)
    speed = {name: common.shown(read / taken["seconds"][name]["median"]) for name in times}
    tokens = {"tokens": common.described(examples), "tokens_per_step": read, "tokens_per_second": speed}
    return {"batch": batch, "dtype": dtype, **tokens, **ratios, **taken, "peak_mib": peaks}


def peak(options: argparse.Namespace, batch: int, dtype: str, name: str) -> float:
    """Peak memory of two steps of one variant, in a process of its own."""
    tiny = ["--tiny"] if options.tiny else []
    measured = common.child_peak([*tiny, "--batches", str(batch), "--dtypes", dtype, "--peak", name])
    common.say(f"batch {batch} {dtype} {name}: {measured:.0f} MiB")
    return measured


def print_peak(options: argparse.Namespace, size: Size) -> None:
    """What a child process prints; the second step has the optimiser's state and the gradients at once."""
    step = Step(size, options.peak, options.batches[0], options.dtypes[0])
    step(), step()
    print(common.peak_mib())


def main() -> None:
    """Measure and report."""
    parser = common.parser(__doc__, batches=[8], repeats=5)
    parser.add_argument("--peak", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--fusions", nargs="+", help="pair each of these with sum")
    parser.add_argument("--count", action="store_true", help="count operations and parameters, time nothing")
    options = parser.parse_args()
    options.pairs = against_sum(options.fusions) if options.fusions else PAIRS
    size = common.TINY if options.tiny else common.PAPER
    if options.peak:
        print_peak(options, size)
        return
    result = {
        "benchmark": "training",
        "size": "tiny" if options.tiny else "paper",
        **common.circumstances(),
        "parameters": common.parameters(
            size, sorted({name for both in options.pairs.values() for name in both} - {"gpt2"} | {"paa"})
        ),
        "repeats": options.repeats,
        "bf16_means": "autocast; weights, gradients and optimiser are fp32",
        "tokens_mean": "persona, context, begin token and reply, each once and without padding, for all three",
        "aims": {name: AIM for name in options.pairs if name.endswith("_over_sum")},
    }
    if options.count:
        names = sorted({name for both in options.pairs.values() for name in both} - {"gpt2"})
        result["rows"] = [counted(size, names, batch) for batch in options.batches]
    else:
        result["rows"] = [row(options, size, batch, dtype) for dtype in options.dtypes for batch in options.batches]
    common.report(result, options.out)


if __name__ == "__main__":
    main()
