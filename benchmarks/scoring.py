"""How fast `personae score` is, and that its memory does not grow with the number of replies.

    python benchmarks/scoring.py --out benchmarks/results/scoring.json

One JSON line on stdout, progress on stderr. `docs/performance.md` says what is measured. Replies and references are
drawn from a vocabulary with Zipf's frequencies, as many words each as on ConvAI2; no model and no torch takes part.
Each file is scored in a process of its own, floors and human replies included; every metric that applies to text is
timed alone as well, and all of them together.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import basics

from personae._version import __version__
from personae.metrics import Metric, Reply, measure_all
from personae.scoring import open_predictions, score

SIZES = (100_000, 1_000_000)
METRICS = "f1,dist1,dist2"
CONVAI2 = 7801  # turns of its validation file
VOCABULARY = 18_000
WORDS = (11.9, 3.9, 3, 24)  # mean, deviation, least, most
TINY = 50


def texts(number: int, seed: int) -> Iterator[str]:
    """``number`` replies of random words."""
    dice = random.Random(seed)
    words = [f"w{rank}" for rank in range(VOCABULARY)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    mean, deviation, least, most = WORDS
    for _ in range(number):
        length = min(max(round(dice.gauss(mean, deviation)), least), most)
        yield " ".join(dice.choices(words, cum_weights=weights, k=length))


def write(path: Path, number: int, seed: int) -> Path:
    """A text file of ``number`` replies."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{text}\n" for text in texts(number, seed))
    return path


def timed(work: Any) -> dict[str, float]:
    """Wall and CPU seconds of ``work``."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": basics.shown(time.perf_counter() - wall),
        "cpu_seconds": basics.shown(time.process_time() - cpu),
    }


def print_child(predictions: Path, references: Path, metrics: str) -> None:
    """What a child process prints: time and peak memory of scoring two files."""
    taken = timed(lambda: score(open_predictions(predictions, references), metrics.split(",")))
    print(json.dumps({**taken, "peak_mib": basics.peak_mib()}))


def row(number: int, metrics: str) -> dict[str, Any]:
    """Everything about files of ``number`` replies."""
    with tempfile.TemporaryDirectory() as folder:
        files = [write(Path(folder) / name, number, seed) for seed, name in enumerate(("said.txt", "golds.txt"))]
        measured = json.loads(basics.child(["--child", *map(str, files), "--metrics", metrics]))
    basics.say(f"{number} replies: {measured}")
    return {"replies": number, **measured}


def each(number: int) -> dict[str, dict[str, float]]:
    """Time of every metric of text on ``number`` replies of 1000 conversations, as on ConvAI2, and of all at once."""
    pairs = zip(texts(number, 0), texts(number, 1), strict=True)
    replies = [Reply(text, (gold,), str(at * 1000 // number)) for at, (text, gold) in enumerate(pairs)]
    metrics = {name: Metric.build(name) for name in Metric.names()}
    fitting = {name: metric for name, metric in metrics.items() if metric.applies(replies)}
    taken = {}
    for name, metric in fitting.items():
        taken[name] = timed(lambda metric=metric: metric.measure(replies))
        basics.say(f"{name}: {taken[name]}")
    return {**taken, "all together": timed(lambda: measure_all(fitting, replies))}


def options() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="a few replies, to try the script")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="replies in a file")
    parser.add_argument("--metrics", default=METRICS, help="what the files are scored by, with commas")
    parser.add_argument("--out", type=Path, help="keep the JSON line in this file too")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> None:
    """Measure and report."""
    given = options().parse_args()
    if given.child:
        print_child(*given.child, given.metrics)
        return
    few = {"benchmark": "scoring", "size": "tiny" if given.tiny else "full", "personae": __version__}
    result = {**few, **basics.machine(), "metrics": given.metrics, "vocabulary": VOCABULARY, "words": WORDS}
    result["rows"] = [row(number, given.metrics) for number in ([TINY, 2 * TINY] if given.tiny else given.sizes)]
    result["each_on"] = TINY if given.tiny else CONVAI2
    result["each"] = each(result["each_on"])
    assert "torch" not in sys.modules, "scoring needs no torch"
    basics.report(result, given.out)


if __name__ == "__main__":
    main()
