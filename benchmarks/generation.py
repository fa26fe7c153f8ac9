"""How fast PAA generates: cached, as published without a cache, and beside plain GPT-2.

    python benchmarks/generation.py --out benchmarks/results/generation.json

One JSON line on stdout, progress on stderr. `docs/performance.md` says what is measured. Variants:
cached: `generate()`, in bf16 on a packed model (`DialogueModel.pack`); uncached: every step encodes the sources again
and reads the whole row, logits at every position, as the published code does; uncached_memory: every step reads the
whole row, logits at its end, and the sources are encoded before, outside the time; gpt2: HF's GPT-2 with as many
parameters, cached, on persona, context and begin token as one prompt; beam3 and gpt2_beam3: cached with three beams;
uncached_fp32, in bf16 rows: uncached in the published code's precision. Shapes: B batch, T prompt and reply.
"""

import argparse
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import common
import torch
from common import Size, Variant
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel

GREEDY, BEAMS = 1, 3
VARIANTS = ("cached", "uncached", "uncached_memory", "gpt2", "beam3", "gpt2_beam3")
FP32 = "uncached_fp32"
RATIOS = {
    "speedup_over_uncached": ("uncached", "cached"),
    "speedup_over_uncached_fp32": (FP32, "cached"),
    "speedup_over_uncached_memory": ("uncached_memory", "cached"),
    "speed_of_gpt2": ("gpt2", "cached"),
    "beam3_speed_of_gpt2": ("gpt2_beam3", "beam3"),
    "beam3_cost": ("beam3", "cached"),
}
AIMS = {
    "bf16": {1: {"speedup_over_uncached": 8.0}, 16: {"speedup_over_uncached": 45.0}},
    "every": {"speed_of_gpt2": 0.9},
}


class Decode:
    """Cached decoding of a batch by ``generate()``, for exactly ``steps`` tokens."""

    def __init__(self, model: PreTrainedModel, inputs: dict[str, Any], steps: int, beams: int) -> None:
        self.model, self.inputs, self.steps = model, inputs, steps
        self.config = GenerationConfig(max_new_tokens=steps, num_beams=beams, do_sample=False, pad_token_id=0)

    def __call__(self) -> Tensor:
        """(B, T + steps) ids."""
        ids = self.inputs["input_ids"]
        rest = {name: value for name, value in self.inputs.items() if name != "input_ids"}
        rows: Tensor = self.model.generate(ids, generation_config=self.config, **rest)
        assert rows.shape[1] == ids.shape[1] + self.steps, "a reply ended before its time"
        return rows


class Uncached:
    """Greedy steps without a cache, at the row lengths ``at`` (0: the prompt alone)."""

    def __init__(self, model: PreTrainedModel, inputs: dict[str, Any], at: Sequence[int], reuse: bool) -> None:
        self.model, self.inputs, self.at, self.reuse = model, inputs, at, reuse

    @torch.no_grad()
    def __call__(self) -> None:
        """Run the steps."""
        known = self.encoded if self.reuse else {"sources": self.inputs["sources"]}
        for length in self.at:
            self.step(length, known)

    @cached_property
    def encoded(self) -> dict[str, Any]:
        """Sources encoded once, in the warm-up; so are their keys and values."""
        return {"memory": self.model.encode(self.inputs["sources"]), "logits_to_keep": 1}

    def step(self, length: int, known: dict[str, Any]) -> Tensor:
        """The next token after ``length`` made ones: their values do not change the work."""
        ids, mask = (self.inputs[name] for name in ("input_ids", "attention_mask"))
        made = ids.new_ones(ids.shape[0], length)
        row, seen = torch.cat([ids, made], 1), torch.cat([mask, made.bool()], 1)
        return self.model(row, attention_mask=seen, **known).logits[:, -1].argmax(-1)  # type: ignore[no-any-return]


def sampled(steps: int, sample: int) -> list[int]:
    """``sample`` of the row lengths 0 to ``steps`` - 1, in the middle of equal parts: their mean is the whole's."""
    taken = min(sample, steps)
    return [int((part + 0.5) * steps / taken) for part in range(taken)]


class Bench:
    """All variants of one batch size and dtype; models are made when first needed."""

    def __init__(self, options: argparse.Namespace, size: Size, batch: int, dtype: str) -> None:
        self.options, self.size, self.dtype = options, size, common.DTYPES[dtype]
        self.examples = common.packed(size, batch)
        self.models: dict[str, PreTrainedModel] = {}

    def model(self, name: str) -> PreTrainedModel:
        """``paa``, ``paa_fp32``, ``paa_packed`` (as the package serves bf16) or ``gpt2``."""
        if name not in self.models:
            dtype = torch.float32 if name == "paa_fp32" else self.dtype
            made = common.plain(self.size, dtype) if name == "gpt2" else common.fused(self.size, "paa", dtype)
            self.models[name] = made.eval()
            if name == "paa_packed":
                made.pack()
        return self.models[name]

    @property
    def served(self) -> str:
        """Which model stands for PAA as a user runs it: packed in bf16."""
        return "paa_packed" if self.dtype == torch.bfloat16 else "paa"

    def variant(self, name: str, at: Sequence[int]) -> Variant:
        """One of ``VARIANTS``; those without a cache run the steps ``at`` only."""
        collate, steps = common.collator(self.size), self.options.steps
        if name.startswith("uncached"):
            inputs = collate.prompts(self.examples)
            model = self.model("paa_fp32" if name == FP32 else "paa")
            return Variant(Uncached(model, inputs, at, name == "uncached_memory"), scale=steps / len(at))
        is_plain = name.startswith("gpt2")
        inputs = collate.prompts(common.concatenated(self.examples) if is_plain else self.examples)
        if is_plain:
            del inputs["sources"]
        return Variant(
            Decode(
                self.model("gpt2" if is_plain else self.served),
                inputs,
                steps,
                BEAMS if name.endswith("beam3") else GREEDY,
            )
        )


def row(options: argparse.Namespace, size: Size, batch: int, dtype: str) -> dict[str, Any]:
    """Everything about one batch size and dtype."""
    names = [*VARIANTS, FP32] if dtype != "fp32" else list(VARIANTS)
    peaks = {name: peak(options, batch, dtype, name) for name in names} if options.memory else {}
    bench = Bench(options, size, batch, dtype)
    at = sampled(options.steps, options.uncached_steps_sample)
    variants = {name: bench.variant(name, at) for name in names}
    times = common.side_by_side(variants, options.repeats, f"batch {batch} {dtype}")
    pairs = {name: pair for name, pair in RATIOS.items() if pair[0] in times}
    tokens = {"tokens": common.described(bench.examples)}
    return {
        "batch": batch,
        "dtype": dtype,
        **tokens,
        **common.ratios(times, pairs),
        **common.seconds(times),
        "peak_mib": peaks,
    }


def peak(options: argparse.Namespace, batch: int, dtype: str, name: str) -> float:
    """Peak memory of one variant, in a process of its own."""
    tiny = ["--tiny"] if options.tiny else []
    steps = ["--steps", str(options.steps), "--batches", str(batch), "--dtypes", dtype]
    measured = common.child_peak([*tiny, *steps, "--peak", name])
    common.say(f"batch {batch} {dtype} {name}: {measured:.0f} MiB")
    return measured


def print_peak(options: argparse.Namespace, size: Size) -> None:
    """What a child process prints; without a cache the longest row is the peak."""
    bench = Bench(options, size, options.batches[0], options.dtypes[0])
    bench.variant(options.peak, [options.steps - 1]).run()
    print(common.peak_mib())


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = common.parser(__doc__, batches=[1, 16], repeats=5)
    parser.add_argument("--steps", type=int, help="new tokens (64; 6 with --tiny)")
    parser.add_argument("--uncached-steps-sample", type=int, default=8, metavar="N", help="steps timed without a cache")
    parser.add_argument("--peak", choices=[*VARIANTS, FP32], help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    options.steps = options.steps or (6 if options.tiny else 64)
    return options


def main() -> None:
    """Measure and report."""
    options = arguments()
    size = common.TINY if options.tiny else common.PAPER
    if options.peak:
        print_peak(options, size)
        return
    result: dict[str, Any] = {
        "benchmark": "generation",
        "size": "tiny" if options.tiny else "paper",
        **common.circumstances(),
        "parameters": common.parameters(size),
        "steps": options.steps,
        "repeats": options.repeats,
        "uncached_measured_steps": sampled(options.steps, options.uncached_steps_sample),
        "uncached_means": "every step encodes the sources and reads the whole row, logits at every position; "
        "only the measured steps are timed, their mean times all steps",
        "uncached_memory_means": "sources are encoded before and not timed; whole row each step, logits at its end",
        "aims": AIMS,
    }
    result["rows"] = [row(options, size, batch, dtype) for dtype in options.dtypes for batch in options.batches]
    common.report(result, options.out)


if __name__ == "__main__":
    main()
