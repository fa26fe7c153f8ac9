"""A comparison as CSV: one row for each data set, recipe, fraction and metric, numbers in full."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from personae.compare.comparison import Comparison
from personae.compare.table import Difference, Mean, Sheet
from personae.compare.trained import Trained
from personae.metrics import Metric

COLUMNS = (
    *("data", "kind", "recipe", "fraction", "sample", "metric", "better"),
    *("value", "low", "high", "deviation", "seeds"),
    *("against", "difference", "difference_low", "difference_high", "p", "p_holm", "effect_d_z", "inside_the_noise"),
    *("parameters", "examples", "steps", "seconds", "tokens_per_second", "device"),
    "signature",
)

BETTER = {True: "higher", False: "lower", None: "neither"}


def tidy(comparison: Comparison) -> str:
    """The content of ``table.csv``: every metric that was measured, floors too; what is not known is empty.

    ``parameters``, ``examples`` and ``steps`` are means over seeds.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for name, sheet in comparison.sheets.items():
        writer.writerows(sheet_rows(name, sheet, comparison))
    return out.getvalue()


def sheet_rows(name: str, sheet: Sheet, comparison: Comparison) -> Iterator[dict[str, Any]]:
    """The rows of one data set, by column."""
    for row, means in sheet.means.items():
        trained = comparison.trained[row]
        for metric, mean in means.items():
            difference = sheet.differences.get(row, {}).get(metric)
            yield {
                **{"data": name, "kind": "recipe", "recipe": trained.name, "fraction": trained.recipe.data.fraction},
                **{"sample": trained.recipe.data.sample, **mean_columns(metric, mean)},
                **({} if difference is None else difference_columns(difference, sheet.against)),
                **cost_columns(trained),
            }
    for floor, means in sheet.floors.items():
        for metric, mean in means.items():
            yield {"data": name, "kind": "floor", "recipe": floor, **mean_columns(metric, mean)}


def mean_columns(metric: str, mean: Mean) -> dict[str, Any]:
    """What a mean says."""
    low, high = mean.interval or (None, None)
    return {
        **{"metric": metric, "better": BETTER[Metric.get(metric).higher_is_better]},
        **{"value": mean.value, "low": low, "high": high, "deviation": mean.deviation},
        **{"seeds": len(mean.seeds) or None, "signature": mean.signature},
    }


def difference_columns(difference: Difference, against: str) -> dict[str, Any]:
    """What a difference says."""
    low, high = difference.interval or (None, None)
    return {
        **{"against": against, "difference": difference.value, "difference_low": low, "difference_high": high},
        **{"p": difference.p, "p_holm": difference.p_holm, "effect_d_z": difference.effect},
        "inside_the_noise": difference.inside_the_noise,
    }


def cost_columns(trained: Trained) -> dict[str, Any]:
    """What training cost."""
    return {
        **{"parameters": average(trained.parameters), "steps": average(trained.steps)},
        "examples": average({each["seed"]: each["examples"] for each in trained.cells}),
        **{"seconds": trained.seconds, "tokens_per_second": trained.rate, "device": "; ".join(trained.devices)},
    }


def average(counts: Mapping[int, int | None]) -> float | None:
    """The mean, without a fraction where it is whole; None where a count is not known."""
    known = [count for count in counts.values() if count is not None]
    if not known or len(known) < len(counts):
        return None
    mean = sum(known) / len(known)
    return int(mean) if mean == int(mean) else mean
