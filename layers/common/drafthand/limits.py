"""When a run has used enough. A limit is told to the model as a normal tool result, and the run ends in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from drafthand.session import Limits, Progress
from drafthand.tools import AUTOMATE

WORDS = {
    "fix": "automations after a failed one",
    "iteration": "automations after a committed one",
    "turns": "turns",
    "seconds": "seconds",
    "cost_usd": "US dollars",
}


@dataclass(frozen=True)
class Reached:
    """A limit that is used up: its name, what was used of it, and the cap."""

    name: str
    used: float
    cap: float

    @property
    def sentence(self) -> str:
        """For a person."""
        return f"The limit of this request is reached: {self._amounts}."

    @property
    def for_model(self) -> str:
        return (
            f"This call was not executed: the limit of this request is reached, {self._amounts}. No more tools can be "
            "called for this request. Tell the user honestly, in a few plain sentences: what was done and committed, "
            "what was not done, where it got stuck, and what you would try next."
        )

    @property
    def _amounts(self) -> str:
        return f"{self.used:,.6g} of {self.cap:,.6g} {WORDS[self.name]}"


def reached(limits: Limits, progress: Progress, tool: str, cost_usd: float | None, at: float) -> Reached | None:
    """The limit that forbids to execute a call of `tool` now; None where there is none.

    Args:
        cost_usd: what the run has cost so far; None where the prices are not known.
    """
    if progress.limit is not None:  # a model that calls on although it was told
        return Reached(progress.limit, _used(progress, progress.limit, cost_usd, at), getattr(limits, progress.limit))
    names = ["turns", "seconds"]
    if limits.cost_usd is not None and cost_usd is not None:
        names.append("cost_usd")
    if tool == AUTOMATE and progress.last_automation is not None:
        names.append("fix" if progress.last_automation == "failed" else "iteration")
    for name in names:
        used, cap = _used(progress, name, cost_usd, at), getattr(limits, name)
        if used >= cap:
            return Reached(name, used, cap)
    return None


def _used(progress: Progress, name: str, cost_usd: float | None, at: float) -> float:
    match name:
        case "seconds":
            return round(at - progress.started_at)
        case "cost_usd":
            return cost_usd or 0.0
    used: int = getattr(progress, name)
    return used
