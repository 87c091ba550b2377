"""What becomes of a request, from what OPA said of it. Pure.

The rules:
- What a decision has errors for, or the shipped rules deny, is denied, whatever else went wrong.
- Where a decision could not be made, the request is denied if any policy exists (closed), else admitted (open); either
  way the answer says so. What policies are mended by (our own resources) is admitted even then.
- Warnings are shown with an admission and with a denial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bridge.model.annotations import Decision

LONGEST_WARNING = 256  # characters; the API server may cut longer ones
ALL_WARNINGS = 4096  # characters of all warnings together, of which the API server drops what is more
LONGEST_MESSAGE = 4096
_FORBIDDEN = (403, "Forbidden")
_UNAVAILABLE = (503, "ServiceUnavailable")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is one of allowed, denied, failed-open, failed-closed; `denied` is a status's code, reason, message."""

    outcome: str
    denied: tuple[int, str, str] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def verdict(decisions: Iterable[Decision], failures: tuple[str, ...], open_because: str) -> Verdict:
    """Judge a request by the decisions that were made on it and by why others could not be made (`failures`).

    `open_because` says why a request is admitted in spite of failures; empty: it is denied for them.
    """
    made = list(decisions)
    warnings = [warning for decision in made for warning in decision.warnings]
    errors = [error for decision in made for error in decision.errors]
    if errors:
        return Verdict("denied", (*_FORBIDDEN, _message("; ".join(errors))), warnings=fitted(warnings))
    why = "; ".join(failures)
    if failures and not open_because:
        text = f"no decision could be made, and requests are denied while policies exist: {why}"
        return Verdict("failed-closed", (*_UNAVAILABLE, _message(text)), warnings=fitted(warnings))
    if failures:
        warnings.insert(0, f"policy-bridge: admitted without a decision, {open_because}: {why}")
    annotations = {name: value for decision in made for name, value in decision.annotations.items()}
    return Verdict("failed-open" if failures else "allowed", None, annotations, fitted(warnings))


def fitted(warnings: Iterable[str]) -> tuple[str, ...]:
    """Warnings as the API server passes them on: one line each, no longer than it allows, and no more of them."""
    lines = [_one_line(warning, LONGEST_WARNING) for warning in warnings]
    kept: list[str] = []
    room = ALL_WARNINGS - LONGEST_WARNING  # for the count of those that are left out
    for number, line in enumerate(lines):
        if len(line) > room:
            kept.append(f"and {len(lines) - number} more warnings")
            break
        kept.append(line)
        room -= len(line)
    return tuple(kept)


def _message(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"


def _one_line(text: str, longest: int) -> str:
    # The API server drops a warning with control characters in it.
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
