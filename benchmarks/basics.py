"""What every benchmark shares that needs no torch: the processor, peak memory, progress, the JSON line."""

import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def shown(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")


def peak_mib() -> float:
    """The most memory that this process held.

    The kernel's mark for this address space where there is one: ``ru_maxrss`` is inherited from the parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return round(int(line.split()[1]) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10), 1)


def child(arguments: Sequence[str]) -> str:
    """What this same script prints, run with ``arguments`` in a process of its own."""
    command = [sys.executable, sys.argv[0], *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def machine() -> dict[str, Any]:
    """What numbers depend on beside the code and its libraries."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "python": platform.python_version(),
        "cpu": names[0] if names else platform.machine(),
        "amx": any("amx_bf16" in line for line in lines),
        "wait_policy": os.environ.get("OMP_WAIT_POLICY"),
        "load_at_start": [round(load, 2) for load in os.getloadavg()],
    }


def say(text: str) -> None:
    """Progress for people; stdout holds the JSON line only."""
    print(text, file=sys.stderr, flush=True)


def report(result: Mapping[str, Any], out: Path | None) -> None:
    """Print the one JSON line, and keep it in ``out``."""
    line = json.dumps(result)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(line + "\n", encoding="utf-8")
    print(line)
