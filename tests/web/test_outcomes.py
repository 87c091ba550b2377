"""Outcomes on the page that are not certain, or not known yet."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kgateway import HARBOR, UNCERTAIN, WHY
from tests.web.bridges import Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

SLOW = "gateway.kgateway.dev/TrafficPolicy/harbor/slow"
ROUTES = 8
# The outcome at each route takes about half a second on an idle machine. OPA merges the same policies once per query:
# each route has a policy of its own.
LABORIOUS = f"""{HARBOR}---
apiVersion: policybridge.io/v1alpha1
kind: PolicyKind
metadata: {{name: cargopolicies.example.com}}
spec:
  group: example.com
  kind: CargoPolicy
  mode: Observe
  class: Inherited
  targets:
  - {{group: gateway.networking.k8s.io, kind: Gateway}}
  - {{group: gateway.networking.k8s.io, kind: HTTPRoute}}
  effectiveTarget: Rule
  defaultStrategy: Custom
  custom: laborious
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: laborious, namespace: opa-policies, labels: {{openpolicyagent.org/policy: rego}}}}
data:
  laborious.rego: |
    package bridge.strategies.laborious

    result := {{"spec": input.challenger.spec}} if count([1 | some i in numbers.range(1, 500000); i % 7 == 0]) > 1
---
apiVersion: example.com/v1
kind: CargoPolicy
metadata: {{name: weight, namespace: harbor}}
spec: {{targetRefs: [{{group: gateway.networking.k8s.io, kind: Gateway, name: quay}}], limit: 10}}
"""
LABORIOUS += "".join(
    f"""---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: pier-{at}, namespace: harbor}}
spec: {{parentRefs: [{{name: quay}}], hostnames: [pier-{at}.example.com], rules: [{{name: all}}]}}
---
apiVersion: example.com/v1
kind: CargoPolicy
metadata: {{name: size-{at}, namespace: harbor}}
spec: {{targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: pier-{at}}}], size: {at}}}
"""
    for at in range(ROUTES)
)


async def test_an_outcome_that_is_not_certain_has_a_sign_a_filter_and_a_row(changing: Bridge, page: Opened) -> None:
    await page.go(changing.url)
    await page.shows("#details h3", "Needs attention: 7 problems")
    (changing.folder / "uncertain.yaml").write_text(UNCERTAIN)
    await page.shows("#details h3", "Needs attention: 7 problems, 2 warnings")
    rows = page.page.locator("#details .overview > .stack li", has_text="Incomplete")
    for name, row in zip(("fast", "slow"), await rows.all(), strict=True):
        text = " ".join((await row.inner_text()).split())
        assert text == f"? Traffic harbor/{name} Incomplete (warning) Its outcome is not certain: {WHY}"
    row = page.page.get_by_role("treeitem", name="TrafficPolicy/harbor/slow, not certain")
    assert await row.locator(".sign").inner_text() == "?"
    await page.page.locator("#filter-outcomes label", has_text="not\u00a0certain").click()
    await page.until("!policyBridge.graph.position('core/Service/payments/ledger')")
    pill = await page.position(f"{SLOW}\n@gateway.networking.k8s.io/Gateway/harbor/quay")
    assert pill is not None
    assert "overridden" not in pill["classes"]
    await page.page.get_by_role("button", name="Show everything").click()
    await page.page.get_by_role("button", name="Show only problems", exact=True).click()
    await page.until("!policyBridge.graph.position('core/Service/payments/ledger')")
    assert await page.position(f"{SLOW}\n@gateway.networking.k8s.io/Gateway/harbor/quay") is not None
    await row.click()
    await page.shows("#details .conditions", f"Incomplete: {WHY}")


async def test_until_the_outcomes_are_known_the_page_is_not_live_and_shows_none(
    serve: Callable[[Path], Bridge], page: Opened, tmp_path: Path
) -> None:
    page.excuse("503")  # queries of the page wait for the outcomes, and not forever
    (tmp_path / "cargo").mkdir()
    (tmp_path / "cargo" / "all.yaml").write_text(LABORIOUS)
    await page.go(serve(tmp_path / "cargo").url)
    await page.shows("#state", "computing outcomes …")
    state, heading, outline = await page.page.evaluate(
        """() => [
          document.getElementById('state').innerText,
          document.querySelector('#details h3').innerText,
          [...document.querySelectorAll('#outline [role=treeitem]')].map((row) => row.ariaLabel).join(),
        ]"""
    )
    assert (state, heading) == ("computing outcomes …", "Computing outcomes …")
    assert f"CargoPolicy/harbor/size-{ROUTES - 1}" in outline
    assert "active" not in outline
    assert "overridden" not in outline
    await page.shows("#state", "live")
    await page.shows("#details h3", "No problems")
    await page.page.get_by_role("treeitem", name="CargoPolicy/harbor/size-0, active").wait_for()
    await page.page.get_by_role("treeitem", name="CargoPolicy/harbor/weight, partly overridden").wait_for()
