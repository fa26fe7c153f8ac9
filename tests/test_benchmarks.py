"""The benchmarks run, at a tiny size, and say what their documentation says."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
COMMON = {
    "benchmark",
    "size",
    "torch",
    "transformers",
    "threads",
    "cpu",
    "wait_policy",
    "parameters",
    "repeats",
    "rows",
}
ROW = {"batch", "dtype", "tokens", "ratios", "cpu_ratios", "seconds", "cpu_seconds", "peak_mib"}
GENERATION = {"cached", "uncached", "uncached_memory", "gpt2", "beam3", "gpt2_beam3"}


def run(script: str, *options: str) -> str:
    command = [sys.executable, str(FOLDER / script), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def tiny(script: str, *options: str) -> dict:
    printed = run(script, "--tiny", "--repeats", "2", "--no-memory", *options).splitlines()
    assert len(printed) == 1
    return json.loads(printed[0])


@pytest.fixture
def common(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("common")
    sys.modules.pop("common")


def test_generation(tmp_path):
    result = tiny("generation.py", "--batches", "1", "3", "--uncached-steps-sample", "2", "--out", str(tmp_path / "a"))
    assert COMMON | {"steps", "aims", "uncached_measured_steps", "uncached_means"} <= result.keys()
    assert result["uncached_measured_steps"] == [1, 4] and result["steps"] == 6
    assert [(row["dtype"], row["batch"]) for row in result["rows"]] == [
        ("fp32", 1), ("fp32", 3), ("bf16", 1), ("bf16", 3)
    ]  # fmt: skip
    for row in result["rows"]:
        assert row.keys() >= ROW
        expected = GENERATION | ({"uncached_fp32"} if row["dtype"] == "bf16" else set())
        assert row["seconds"].keys() == row["cpu_seconds"].keys() == expected
        assert {"speedup_over_uncached", "speedup_over_uncached_memory", "speed_of_gpt2"} <= row["ratios"].keys()
        assert all(0 < value["min"] <= value["median"] <= value["max"] for value in row["ratios"].values())
    assert json.loads((tmp_path / "a").read_text()) == result
    assert "| speedup over uncached |" in run("table.py", str(tmp_path / "a"))


def test_training(tmp_path):
    result = tiny("training.py", "--batches", "4", "--out", str(tmp_path / "deep" / "a"))
    assert COMMON | {"aims", "bf16_means", "tokens_mean"} <= result.keys()
    assert [row["dtype"] for row in result["rows"]] == ["fp32", "bf16"]
    for row in result["rows"]:
        assert row.keys() >= ROW | {"tokens_per_step", "tokens_per_second"}
        assert row["seconds"].keys() == row["tokens_per_second"].keys() == {"paa", "sum", "gpt2"}
        assert row["ratios"].keys() == row["cpu_ratios"].keys() == {"paa_over_sum", "paa_over_gpt2"}
    assert "| paa over sum |" in run("table.py", str(tmp_path / "deep" / "a"))


def test_scoring(tmp_path):
    (printed,) = run("scoring.py", "--tiny", "--out", str(tmp_path / "a")).splitlines()
    result = json.loads(printed)
    assert [row["replies"] for row in result["rows"]] == [50, 100]
    assert all(row.keys() == {"replies", "seconds", "cpu_seconds", "peak_mib"} for row in result["rows"])
    assert all(10 < row["peak_mib"] < 200 for row in result["rows"]), "no torch in it"
    assert result["each"].keys() >= {"f1", "bleu", "dist2", "all together"}
    assert json.loads((tmp_path / "a").read_text()) == result
    assert "| 50 replies by |" in run("table.py", str(tmp_path / "a"))


def test_recurrent(tmp_path):
    options = ["--tiny", "--repeats", "2", "--batches", "3", "--kinds", "both", "topic", "--out", str(tmp_path / "a")]
    result = json.loads(run("recurrent.py", *options))
    assert COMMON | {"aims", "bf16_means", "length"} <= result.keys()
    assert [row["dtype"] for row in result["rows"]] == ["fp32", "bf16"]
    for row in result["rows"]:
        assert row.keys() >= ROW - {"tokens", "peak_mib"}
        assert row["seconds"].keys() == {
            f"{name}_{way}" for name in ("both", "topic", "torch") for way in ("bi", "uni")
        }
        assert row["ratios"].keys() >= result["aims"].keys() == {"both_bi_over_torch", "topic_bi_over_torch"}
    assert "| both bi over torch |" in run("table.py", str(tmp_path / "a"))


@pytest.mark.parametrize(("script", "variant"), [("generation.py", "uncached"), ("training.py", "paa")])
def test_peak_memory_is_that_of_one_variant(script, variant):
    options = ["--tiny", "--batches", "2", "--dtypes", "bf16", "--peak", variant]
    assert 50 < float(run(script, *options)) < 4000


@pytest.mark.parametrize("size", ["PAPER", "TINY"])
def test_plain_gpt2_has_as_many_parameters(common, size):
    assert common.parameters(getattr(common, size))["gpt2_over_paa"] == pytest.approx(1, abs=0.02)


def test_the_papers_size_has_the_papers_number_of_parameters(common):
    assert common.parameters(common.PAPER)["paa"] == 254_021_376


@pytest.mark.parametrize(("batch", "mean"), [(1, 124), (16, 124), (32, 124)])
def test_lengths_are_those_of_real_dialogues(common, batch, mean):
    assert common.described(common.packed(common.PAPER, batch))["context"] == pytest.approx(mean, abs=2)


def test_what_a_training_step_does_is_counted(tmp_path):
    counted = ["--fusions", "paa", "mean", "--count", "--batches", "2", "--out", str(tmp_path / "a")]
    (row,) = tiny("training.py", *counted)["rows"]
    assert "| mean | 1.000 |" in run("table.py", str(tmp_path / "a"))
    assert row["operations"].keys() == {"paa", "mean", "sum"}
    assert row["operations_over_sum"]["mean"] == row["operations_over_sum"]["sum"] == 1
    assert 1 < row["operations_over_sum"]["paa"] < 1.3 and row["parameters_over_sum"]["paa"] > 1
