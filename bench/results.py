"""What a benchmark found: figures against their targets, kept as JSON in bench/results."""

import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Figure:
    """`target` is the most it may be; None: told for reading only."""

    name: str
    value: float
    target: float | None = None
    unit: str = ""

    @property
    def ok(self) -> bool:
        return self.target is None or self.value <= self.target


@dataclass(frozen=True)
class Result:
    """`load` is the one-minute load average at the start and at the end of what was measured."""

    name: str
    figures: list[Figure]
    load: tuple[float, float]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return all(figure.ok for figure in self.figures)


def load() -> float:
    return round(os.getloadavg()[0], 2)


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def write(result: Result) -> None:
    """Replaces the last one whole. No names of machines or people, no paths."""
    told = {
        "name": result.name,
        "ok": result.ok,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "figures": [
            {
                "name": figure.name,
                "value": round(figure.value, 4),
                "target": figure.target,
                "unit": figure.unit,
                "ok": figure.ok,
            }
            for figure in result.figures
        ],
        "load": list(result.load),
        "machine": _machine(),
        **result.details,
    }
    FOLDER.mkdir(exist_ok=True)
    part = path_of(result.name).with_suffix(".tmp")
    part.write_text(json.dumps(told, indent=1) + "\n")
    part.replace(path_of(result.name))


def read(name: str) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads(path_of(name).read_text())
    except (OSError, ValueError):
        return None
    return told


def table(told: dict[str, Any]) -> str:
    """A line for each figure: benchmark, figure, value, target, verdict, load."""
    return "\n".join(_line(told, figure) for figure in told["figures"])


def _line(told: dict[str, Any], figure: dict[str, Any]) -> str:
    value = f"{figure['value']:g} {figure['unit']}".strip()
    target, verdict = "", ""
    if figure["target"] is not None:
        target = f"≤ {figure['target']:g}"
        verdict = "ok" if figure["ok"] else "MISSED"
    loads = f"load {told['load'][0]:g} to {told['load'][1]:g}"
    return f"{told['name']:9} {figure['name']:46} {value:>14} {target:>8} {verdict:6} {loads}"


def _machine() -> dict[str, Any]:
    asked = ["docker", "version", "--format", "{{.Server.Version}}"]
    try:
        docker = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        docker = ""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "docker": docker,
        "kernel": platform.release().split("-")[0],
    }
