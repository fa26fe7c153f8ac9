"""Markdown tables of what the benchmarks wrote: python benchmarks/table.py benchmarks/results/*.json."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Result = Mapping[str, Any]


def measured(value: Mapping[str, float]) -> str:
    """Median with its range."""
    return f"{value['median']:.3g} ({value['min']:.3g} to {value['max']:.3g})"


def lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in [columns, ["---"] * len(columns), *rows]]


def transposed(result: Result, part: str, show: Any) -> list[list[str]]:
    """One line for every name in ``part``, one column for every row of the result."""
    names = list(dict.fromkeys(name for row in result["rows"] for name in row[part]))
    shown = {name: [show(row[part][name]) if name in row[part] else "" for row in result["rows"]] for name in names}
    return [[name.replace("_", " "), *cells] for name, cells in shown.items()]


def table(result: Result) -> str:
    """Ratios, seconds, CPU seconds and peak memory of one benchmark."""
    heads = [f"{row.get('dtype', 'counted')}, batch {row['batch']}" for row in result["rows"]]
    shows = {
        "ratios": ("ratio of seconds", measured),
        "cpu_ratios": ("ratio of CPU seconds", measured),
        "seconds": ("seconds", measured),
        "cpu_seconds": ("CPU seconds", measured),
        "tokens_per_second": ("tokens per second", lambda value: f"{value:.0f}"),
        "peak_mib": ("peak memory, MiB", lambda value: f"{value:.0f}"),
        "operations_over_sum": ("operations over sum", lambda value: f"{value:.3f}"),
        "parameters_over_sum": ("parameters over sum", lambda value: f"{value:.3f}"),
    }
    parts = [
        lines([title, *heads], transposed(result, part, show))
        for part, (title, show) in shows.items()
        if result["rows"][0].get(part)
    ]
    return "\n\n".join([title(result), *("\n".join(part) for part in parts)])


def scoring_table(result: Result) -> str:
    """Seconds and memory of whole files, and seconds of each metric."""
    files = [
        [f"{row['replies']:,}", f"{row['seconds']:.3g}", f"{row['cpu_seconds']:.3g}", f"{row['peak_mib']:.0f}"]
        for row in result["rows"]
    ]
    each = [[name, f"{taken['seconds']:.3g}", f"{taken['cpu_seconds']:.3g}"] for name, taken in result["each"].items()]
    parts = [
        f"### Scoring\n\n{result['cpu']}; {result['metrics']} beside the floors, from text files",
        "\n".join(lines(["replies", "seconds", "CPU seconds", "peak memory, MiB"], files)),
        "\n".join(lines([f"{result['each_on']:,} replies by", "seconds", "CPU seconds"], each)),
    ]
    return "\n\n".join(parts)


def title(result: Result) -> str:
    """Heading and circumstances."""
    where = f"{result['cpu']}{' with AMX' if result['amx'] else ''}, {result['threads']} threads"
    what = f"torch {result['torch']}, transformers {result['transformers']}, {result['repeats']} repetitions"
    return f"### {result['benchmark'].capitalize()}, {result['size']} size\n\n{where}; {what}. Median (least to most)."


def main(files: Sequence[str]) -> None:
    """Print the tables of ``files``."""
    results = [json.loads(Path(name).read_text(encoding="utf-8")) for name in files]
    print("\n\n".join(scoring_table(each) if each["benchmark"] == "scoring" else table(each) for each in results))


if __name__ == "__main__":
    main(sys.argv[1:])
