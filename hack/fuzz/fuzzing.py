"""Send requests to a bridge, and find wrong responses."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from hack.fuzz.requests import DENIED, Sent, requests, well_formed
from hack.fuzz.target import Answer, Target, target

AT_ONCE = 8
# Of the 5xx in docs/reference/http.md, 503 (OPA is briefly unavailable) is allowed; 502 would be an error in our Rego.
DOCUMENTED = {"page": {503}, "webhook": set[int](), "probes": {503}}
WARM = 200  # requests after which memory is measured for the first time
MOST_GROWTH = {"bridge": 200.0, "opa": 600.0}  # MiB; OPA parses bodies of megabytes, eight at a time


@dataclass
class Report:
    """The results of a run: `findings`, and `statuses`, the number of each response."""

    seed: int
    findings: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """Return a readable form."""
        answered = ", ".join(f"{name}: {count}" for name, count in sorted(self.statuses.items()))
        lines = [f"seed {self.seed}", f"answered: {answered}", *self.findings, f"{len(self.findings)} findings"]
        return "\n".join(lines)


async def fuzz(count: int, number: int) -> Report:
    """Send about `count` requests that hypothesis draws by the seed `number`, until one gets a wrong response."""
    report = Report(number)
    with tempfile.TemporaryDirectory(prefix="policy-bridge-fuzz-") as folder:
        async with target(Path(folder)) as bridge:
            await _still_works(bridge, report, "before")
            await _send_all(bridge, report, min(WARM, count))
            before = bridge.bridge.memories()
            await _send_all(bridge, report, count - WARM)
            await _still_works(bridge, report, "after")
            for name, size in bridge.bridge.memories().items():
                if size - before.get(name, size) > MOST_GROWTH[name]:
                    report.findings.append(f"memory of {name} grew from {before[name]:.0f} to {size:.0f} MiB")
            report.findings += [f"log: {line[:500]}" for line in bridge.complaints()[:20]]
    return report


async def _send_all(bridge: Target, report: Report, count: int) -> None:
    if count < AT_ONCE:
        return
    loop = asyncio.get_running_loop()

    @seed(random.Random(f"{report.seed} {count}").randrange(1 << 32))
    @settings(
        max_examples=count // AT_ONCE,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # each request is judged by itself, so there is little to shrink
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(requests(), min_size=AT_ONCE, max_size=AT_ONCE))
    def send(group: list[Sent]) -> None:
        found = asyncio.run_coroutine_threadsafe(_findings(bridge, report, group), loop).result()
        assert not found, "\n".join(found)

    try:
        await asyncio.to_thread(send)
    except AssertionError as error:
        report.findings.append(str(error))


async def _findings(bridge: Target, report: Report, group: list[Sent]) -> list[str]:
    """Send a group at once, and return a line for each wrong response."""
    judged = await asyncio.gather(*(_judged(bridge, report, sent) for sent in group))
    return [
        f"{sent.what} to the {sent.listener}: {finding}; sent {str(sent.pieces)[:1000]}"
        for sent, findings in zip(group, judged, strict=True)
        for finding in findings
    ]


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
