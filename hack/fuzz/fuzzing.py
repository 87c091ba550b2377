"""Send requests to a bridge, and find wrong responses."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hack.fuzz.requests import Sent, request, well_formed
from hack.fuzz.reviews import DENIED
from hack.fuzz.target import Answer, Target, target

AT_ONCE = 8
# Of the 5xx that docs/reference/http.md lists, 503 (OPA is briefly unavailable) is not an error; 502 would be an error in our Rego.
DOCUMENTED = {"page": {503}, "webhook": set[int](), "probes": {503}}
WARM = 200  # requests after which memory is measured for the first time
MOST_GROWTH = {"bridge": 200 << 20, "opa": 600 << 20}  # bytes; OPA parses bodies of megabytes, eight at a time


@dataclass
class Report:
    """The results of a run: `findings` by the request's number, and `statuses`, the number of each response."""

    seed: int
    findings: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    memory: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return a readable form."""
        grown = ", ".join(f"{name} {a >> 20} to {b >> 20} MiB" for name, (a, b) in self.memory.items())
        answered = ", ".join(f"{name}: {count}" for name, count in sorted(self.statuses.items()))
        lines = [f"seed {self.seed}", f"answered: {answered}", f"memory: {grown or 'not measured'}", *self.findings]
        return "\n".join([*lines, f"{len(self.findings)} findings"])


async def fuzz(requests: int, seed: int, only: int | None = None) -> Report:
    """Send this many requests, or only the request with this number."""
    report = Report(seed)
    with tempfile.TemporaryDirectory(prefix="policy-bridge-fuzz-") as folder:
        async with target(Path(folder)) as bridge:
            await _still_works(bridge, report, "before")
            first = range(min(WARM, requests)) if only is None else range(only, only + 1)
            await _send_all(bridge, report, first)
            before = bridge.memory()
            await _send_all(bridge, report, range(first.stop, requests) if only is None else range(0))
            await _still_works(bridge, report, "after")
            after = bridge.memory()
            report.memory = {name: (size, after[name]) for name, size in before.items() if name in after}
            for name, (size, later) in report.memory.items():
                if later - size > MOST_GROWTH[name]:
                    report.findings.append(f"memory of {name} grew from {size >> 20} to {later >> 20} MiB")
            report.findings += [f"log: {line[:500]}" for line in bridge.complaints()[:20]]
    return report


async def _send_all(bridge: Target, report: Report, numbers: range) -> None:
    waiting = iter(numbers)

    async def some() -> None:
        for number in waiting:
            sent = request(report.seed, number)
            for finding in await _judged(bridge, report, sent):
                report.findings.append(f"request {number} ({sent.what} to the {sent.listener}): {finding}")
            if bridge.process.returncode is not None:
                return

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))


async def _judged(bridge: Target, report: Report, sent: Sent) -> list[str]:
    try:
        answer = await bridge.send(sent)
    except TimeoutError:
        return ["no answer"]
    except OSError as error:
        return [f"no connection: {error}"]
    report.statuses[f"{sent.listener} {answer.status or 'none'}"] += 1
    findings = []
    if answer.status >= 500 and answer.status not in DOCUMENTED[sent.listener]:
        findings.append(f"status {answer.status}: {answer.body[:300]!r}")
    if sent.listener == "webhook":
        findings += _wrong_admission(sent, answer)
    return findings


def _wrong_admission(sent: Sent, answer: Answer) -> list[str]:
    response = _response(answer)
    allowed = response.get("allowed")
    if sent.never_allowed and allowed is True:
        return [f"admitted what the policy denies: {sent.pieces!r}"[:2000]]
    if sent.verdict is None or sent.incomplete:
        return []
    if answer.status != 200 or allowed is not sent.verdict or response.get("uid") != sent.uid:
        return [f"{answer.status} {answer.body[:300]!r} where allowed must be {sent.verdict}"]
    if not sent.verdict and DENIED not in response["status"]["message"]:
        return [f"denied for another reason: {response['status']['message']}"]
    return []


def _response(answer: Answer) -> dict[str, Any]:
    if answer.status != 200:
        return {}
    try:
        found = json.loads(answer.body)["response"]
        if "patch" in found:
            json.loads(base64.b64decode(found["patch"]))
    except (ValueError, KeyError, TypeError):
        return {}
    return dict(found)


async def _still_works(bridge: Target, report: Report, when: str) -> None:
    for path in ("/livez", "/readyz"):
        await _expect(bridge, report, Sent("probes", path, (well_formed(path, b"", "GET"),)), when)
    body = json.dumps({"input": {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"]}}).encode()
    found = await _expect(bridge, report, Sent("page", "effective", (well_formed("/api/query/effective", body),)), when)
    if b'"theme":"light"' not in found:
        report.findings.append(f"{when} all: effective answers {found[:300]!r}")


async def _expect(bridge: Target, report: Report, sent: Sent, when: str) -> bytes:
    try:
        answer = await bridge.send(sent)
    except OSError as error:
        report.findings.append(f"{when} all: {sent.what}: {error!r}")
        return b""
    if answer.status != 200:
        report.findings.append(f"{when} all: {sent.what} answers {answer.status}: {answer.body[:300]!r}")
    return answer.body
