"""An investigation: what OpenSRE's pipeline does, its steps told as they begin and end.

The pipeline's own events hold its whole state, integrations' credentials among it: only what is
picked here leaves the process.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from runtimes.opensre.host.engine import Finding
from runtimes.opensre.host.events import ToolUse
from runtimes.opensre.host.faults import NoReport

STEPS = {
    "extract_alert": "read alert",
    "resolve_integrations": "load integrations",
    "plan_actions": "plan",
    "investigate": "gather evidence",
    "diagnose": "diagnose",
    "publish": "write report",
}
NOISE = "This is no alert that needs an investigation, so none was made."
MOST_DETAIL = 200  # characters


async def investigate(
    pipeline: Callable[..., Any], title: str, alert: Mapping[str, Any]
) -> AsyncGenerator[ToolUse | Finding, None]:
    """`pipeline` is OpenSRE's `astream_investigation`."""
    state = dict[str, Any]()
    affected, severity = word(alert, "pipeline_name", "unknown"), word(alert, "severity", "warning")
    async for event in pipeline(title, affected, severity, raw_alert=dict(alert)):
        step = STEPS.get(event.node_name)
        if step is None or event.data["name"] != event.node_name:
            continue  # something inside of a step
        if event.kind == "on_chain_start":
            yield ToolUse(step, "started", "")
        elif event.kind == "on_chain_end":
            output = event.data["data"].get("output")
            state.update(output if isinstance(output, dict) else {})
            yield ToolUse(step, "completed", detail(event.node_name, state)[:MOST_DETAIL])
    yield finding(state)


def finding(state: Mapping[str, Any]) -> Finding:
    if state.get("is_noise"):
        return Finding(root_cause="", report=NOISE)
    report = word(state, "report")
    if not report.strip():
        raise NoReport
    return Finding(root_cause=word(state, "root_cause"), report=report)


def detail(node: str, state: Mapping[str, Any]) -> str:
    match node:
        case "resolve_integrations":
            resolved = state.get("resolved_integrations") or {}
            return ", ".join(name for name in resolved if not name.startswith("_"))
        case "plan_actions":
            return ", ".join(map(str, state.get("planned_actions") or []))
        case "diagnose":
            return word(state, "root_cause")
    return ""


def word(values: Mapping[str, Any], name: str, default: str = "") -> str:
    value = values.get(name)
    return value if isinstance(value, str) and value else default
