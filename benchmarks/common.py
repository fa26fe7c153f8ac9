"""What both benchmarks share: sizes, lengths, models, the side-by-side timer, peak memory, the JSON line.

Shapes: B batch, T prompt and reply, S source.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from basics import child, machine, peak_mib, report, say, shown
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from personae.models import FusedConfig, FusedModel
from personae.text.collate import Collator
from personae.text.pack import Packed

__all__ = ["peak_mib", "report", "say", "shown"]  # so that a benchmark of models needs one import only

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SEED = 0
MARKS = 3  # begin, end and padding are the last ids of the vocabulary


@dataclass(frozen=True)
class Size:
    """One size of PAA, the plain GPT-2 with as many parameters, and lengths as mean, deviation, least, most."""

    vocabulary: int
    decoder: Mapping[str, int]
    encoder: Mapping[str, int]
    plain: Mapping[str, int]
    lengths: Mapping[str, tuple[float, float, int, int]]


# Lengths of the ConvAI2 validation file in GPT-2's tokens. The plain model's 16 layers of width 1024 hold as
# many parameters as PAA without its encoders' word tables, which decoding never reads in full.
PAPER = Size(
    vocabulary=50265,
    decoder={"n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024},
    encoder={"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 3072},
    plain={"n_embd": 1024, "n_layer": 16, "n_head": 16, "n_positions": 1024},
    lengths={"persona": (37, 8, 15, 63), "context": (124, 65, 8, 364), "reply": (14.5, 4.5, 4, 29)},
)
TINY = Size(
    vocabulary=200,
    decoder={"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128},
    encoder={"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64},
    plain={"n_embd": 44, "n_layer": 4, "n_head": 2, "n_positions": 128},
    lengths={"persona": (5, 1, 3, 7), "context": (11, 4, 3, 20), "reply": (4, 1, 2, 6)},
)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Make parameters in ``dtype`` from the start, so that no fp32 copy counts as peak memory."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def marks(size: Size) -> dict[str, Any]:
    """Vocabulary and special ids; no end token, so that every reply has all its steps."""
    last = size.vocabulary
    return {"vocab_size": last, "bos_token_id": last - 3, "eos_token_id": None, "pad_token_id": last - 1}


def fused(size: Size, fusion: str, dtype: torch.dtype = torch.float32) -> FusedModel:
    """PAA or another fusion at ``size``, from random weights."""
    torch.manual_seed(SEED)
    options: dict[str, Any] = {"decoder": dict(size.decoder), "encoder": dict(size.encoder), "pooler": True}
    with default_dtype(dtype):
        return FusedModel(FusedConfig(fusion={"name": fusion}, **options, **marks(size)))


def plain(size: Size, dtype: torch.dtype = torch.float32) -> GPT2LMHeadModel:
    """HF's GPT-2 with as many parameters, from random weights, and with the fused gelu that PAA's decoder has."""
    torch.manual_seed(SEED)
    with default_dtype(dtype):
        return GPT2LMHeadModel(GPT2Config(activation_function="gelu_pytorch_tanh", **size.plain, **marks(size)))


def count(model: nn.Module) -> int:
    """Parameters, without the encoders' word tables."""
    named = dict(model.named_parameters())
    return sum(value.numel() for name, value in named.items() if not name.endswith("word_embeddings.weight"))


def parameters(size: Size, fusions: Sequence[str] = ("paa",)) -> dict[str, Any]:
    """How many parameters each side has, encoders' word tables left out; costs no memory."""
    with torch.device("meta"):
        counts = {name: count(fused(size, name)) for name in fusions}
        counts["gpt2"] = count(plain(size))
    return {**counts, "gpt2_geometry": dict(size.plain), "gpt2_over_paa": round(counts["gpt2"] / counts["paa"], 4)}


def spread(limits: tuple[float, float, int, int], batch: int, seed: int) -> list[int]:
    """Lengths at evenly spaced quantiles of a normal distribution, shuffled; a batch of one has the mean."""
    mean, deviation, least, most = limits
    normal = statistics.NormalDist(mean, deviation)
    drawn = [round(normal.inv_cdf((row + 0.5) / batch)) for row in range(batch)]
    random.Random(seed).shuffle(drawn)
    return [min(max(length, least), most) for length in drawn]


def packed(size: Size, batch: int) -> list[Packed]:
    """``batch`` dialogues of random ids: persona and context as sources, the persona in the prompt."""
    dice = random.Random(SEED)
    lengths = [spread(limits, batch, SEED + at) for at, limits in enumerate(size.lengths.values())]
    rows = [
        [[dice.randrange(size.vocabulary - MARKS) for _ in range(n)] for n in row] for row in zip(*lengths, strict=True)
    ]
    begin = marks(size)["bos_token_id"]
    return [
        Packed(sources={"persona": p, "context": c}, items={}, prompt=[*p, begin], reply=reply) for p, c, reply in rows
    ]


def concatenated(examples: Sequence[Packed]) -> list[Packed]:
    """The same dialogues for plain GPT-2: persona, context and the begin token as one prompt."""
    prompts = [[*p.sources["persona"], *p.sources["context"], p.prompt[-1]] for p in examples]
    return [
        Packed(sources={}, items={}, prompt=prompt, reply=p.reply) for prompt, p in zip(prompts, examples, strict=True)
    ]


def collator(size: Size) -> Collator:
    """The project's own collator."""
    return Collator(marks(size)["pad_token_id"])


def described(examples: Sequence[Packed]) -> dict[str, float]:
    """Mean number of tokens of every part of the dialogues."""
    parts = {name: [len(p.sources[name]) for p in examples] for name in examples[0].sources}
    parts["reply"] = [len(p.reply) for p in examples]
    return {name: round(statistics.fmean(lengths), 1) for name, lengths in parts.items()}


@dataclass(frozen=True)
class Variant:
    """Something to time; ``scale`` turns the seconds of a sample into those of the whole."""

    run: Callable[[], object]
    scale: float = 1.0

    def time(self) -> tuple[float, float]:
        """Wall and CPU seconds of one run."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.run()
        return (time.perf_counter() - wall) * self.scale, (time.process_time() - cpu) * self.scale


Times = dict[str, list[tuple[float, float]]]


def side_by_side(variants: Mapping[str, Variant], repeats: int, label: str = "") -> Times:
    """Time all variants in turn, ``repeats`` times, forwards and backwards alternately, after one warm-up each."""
    for variant in variants.values():
        variant.run()
    times: Times = {name: [] for name in variants}
    for repeat in range(repeats):
        for name in list(variants)[:: 1 if repeat % 2 == 0 else -1]:
            times[name].append(variants[name].time())
            say(f"{label} {name} {repeat + 1}/{repeats}: {times[name][-1][0]:.3f} s")
    return times


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": shown(statistics.median(values)), "min": shown(min(values)), "max": shown(max(values))}


def seconds(times: Times) -> dict[str, Any]:
    """Wall and CPU seconds of every variant."""
    parts = {"seconds": 0, "cpu_seconds": 1}
    return {
        part: {name: summary([run[at] for run in runs]) for name, runs in times.items()} for part, at in parts.items()
    }


def ratios(times: Times, pairs: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Ratios of wall and of CPU seconds, repetition by repetition, for every named pair of variants."""
    result: dict[str, Any] = {"ratios": {}, "cpu_ratios": {}}
    for name, (above, below) in pairs.items():
        both = list(zip(times[above], times[below], strict=True))
        result["ratios"][name] = summary([a[0] / b[0] for a, b in both])
        result["cpu_ratios"][name] = summary([a[1] / b[1] for a, b in both])
    return result


def child_peak(arguments: Sequence[str]) -> float:
    """Peak memory of this same script run with ``arguments`` in a process of its own."""
    return float(child(arguments))


def circumstances() -> dict[str, Any]:
    """What the numbers depend on beside the code."""
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    return {**versions, "threads": torch.get_num_threads(), **machine()}


def parser(about: str | None, batches: Sequence[int], repeats: int) -> argparse.ArgumentParser:
    """The options that both benchmarks take."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tiny", action="store_true", help="a model of some thousand parameters, to try the script")
    options.add_argument("--batches", type=int, nargs="+", default=list(batches))
    options.add_argument("--dtypes", choices=list(DTYPES), nargs="+", default=list(DTYPES))
    options.add_argument("--repeats", type=int, default=repeats, help="timed repetitions of every variant")
    options.add_argument("--no-memory", dest="memory", action="store_false", help="leave out peak memory")
    options.add_argument("--out", type=Path, help="keep the JSON line in this file too")
    return options
