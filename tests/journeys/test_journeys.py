"""The five journeys, from `git clone` by the documentation alone: real OPA, real API server, real browser.

The commands are those of README.md and docs/, which `Reader.follow` types section by section. What a page asks for in
words (change a value, click a card) is written here.
"""

import pytest

from tests.controlplane.plane import ControlPlane
from tests.journeys.reader import Reader
from tests.web.page import Opened

pytestmark = pytest.mark.long

FIRST_STEPS = "docs/tutorials/first-steps.md"
LIMITED = "docs/tutorials/why-is-my-route-limited.md"
VENDORS = "docs/tutorials/envoy-gateway-istio-and-kuadrant.md"
IN_CI = "docs/how-to/check-in-ci.md"
INSTALL = "docs/how-to/install-on-a-cluster.md"
KIND = "docs/how-to/describe-a-policy-kind.md"
MERGE = "docs/how-to/merge-lists-and-custom.md"
REGO = "docs/how-to/write-a-policy.md"
LEVELS = "docs/how-to/extend-the-hierarchy.md"
ACTIVATE = ". .venv/bin/activate"
CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"


def test_application_developer_finds_the_limit_of_a_route(reader: Reader) -> None:
    reader.follow("README.md", "Try it", without="pipx")
    reader.stop()
    reader.follow(FIRST_STEPS, "1. Start it")
    reader.follow(FIRST_STEPS, "2. Ask which policies apply to a rule")
    reader.edit("examples/shop/61-accessibility.yaml", "contrast: 7", "contrast: 9")
    reader.follow(FIRST_STEPS, "3. Change something")
    reader.edit("examples/shop/61-accessibility.yaml", "contrast: 9", "contrast: 7")
    for section in ("4. Read the statuses", "5. Query OPA", "6. Work without a server"):
        reader.follow(FIRST_STEPS, section)
    reader.stop()
    reader.type("unset BRIDGE_OPA_URL")  # the tutorials begin in a terminal of their own
    reader.follow(LIMITED)
    reader.follow(VENDORS)
    reader.stop()
    reader.follow("README.md", "Ask about manifests")
    reader.follow(IN_CI, "Fields and values")
    reader.follow(IN_CI, "2. Show what a pull request changes", without="deploy/")


def test_platform_engineer_installs_upgrades_and_removes_the_bridge(reader: Reader, cluster: ControlPlane) -> None:
    """The control plane has no kubelet: the Pods do not run, so `kubectl rollout status` would wait for ever."""
    reader.type(ACTIVATE)
    reader.follow("README.md", "Run it on a cluster")
    reader.stop()
    reader.follow(INSTALL, "With Helm", without="rollout|image.repository")
    reader.replaced["--manifests kinds/"] = "--cluster"  # the kinds of the example, and those of Gateway API
    reader.follow(INSTALL, "Grant the permissions that your policies need", without="--check")
    reader.type("pbctl admin rbac --config bridge.yaml --check --as system:serviceaccount:policy-bridge:policy-bridge")
    reader.follow(INSTALL, "Upgrade")
    reader.replaced["REVISION"] = "1"
    reader.follow(INSTALL, "Roll back")
    reader.replaced["uninstall-status"] = "uninstall-status --yes"  # this terminal has no user
    reader.follow(INSTALL, "Remove", without="delete -k")
    assert "policy-bridge" not in reader.type("kubectl get deployments,clusterroles,validatingwebhookconfigurations -A")


def test_policy_author_describes_a_kind(reader: Reader, cluster: ControlPlane) -> None:
    reader.type(ACTIVATE)
    reader.follow(KIND, "2. Answer five questions")
    reader.follow(KIND, "3. Try it on a folder")
    reader.follow(KIND, "4. Read the statuses")
    reader.follow(KIND, "5. On the cluster")
    reader.follow(MERGE, "Merge by key, or keep a value whole")
    reader.follow(MERGE, "Merge by your own rule")


def test_admin_loads_rego(reader: Reader, cluster: ControlPlane) -> None:
    reader.type(ACTIVATE)
    reader.follow(REGO, "Write a policy in Rego")
    reader.follow(REGO, "A ConfigMap")
    reader.edit("teams.yaml", '"every object names its team"', "message")
    reader.follow(REGO, "See an error")
    reader.follow(REGO, "Check it before you apply it")
    reader.follow(REGO, "Data")
    reader.follow(REGO, "A RegoPolicy", without="configmap/teams")
    reader.edit("replicas.yaml", "spec.replicas < 2", "spec.replicas < 1")
    reader.follow(REGO, "A test that fails")
    reader.follow(LEVELS, "Extend the hierarchy")
    reader.follow(LEVELS, "Load a module")
    reader.type(f"export OPA={reader.replaced['http://127.0.0.1:38109']}")
    reader.follow(LEVELS, "Find mistakes")
    reader.stop()
    reader.edit("replicas.yaml", "spec.replicas < 1", "spec.replicas < 2")
    reader.follow(REGO, "Deny a request")
    reader.follow(REGO, "Clean up", without="delete namespace")  # no controller here ends the deletion
    reader.stop()


@pytest.mark.asyncio(loop_scope="session")
async def test_user_of_the_page_asks_tries_and_sends_a_link(reader: Reader, page: Opened) -> None:
    reader.follow("README.md", "Try it", without="pipx")
    await page.go(reader.replaced["http://127.0.0.1:8282"])
    await page.shows("#state", "live")
    await page.click_node(CHECKOUT)
    for part in ("colors.accent", "infra/brand", "Why: ", "Effective spec as YAML"):
        await page.shows("#details", part)
    await page.page.get_by_role("tab", name="Try a request").click()
    await page.page.fill("#request-host", "shop.example.com")
    await page.page.fill("#request-path", "/checkout")
    await page.page.fill("#request-port", "443")
    await page.page.get_by_role("button", name="Try it").click()
    await page.shows("#request-answer", "Served by HTTPRoute/shop/cart#checkout")
    link = page.page.url
    await page.see_what_would_change(delete="ColorPolicy/infra/brand")
    await page.shows("#changes-answer", "1 deleted")
    await page.page.goto("about:blank")
    await page.go(link)
    await page.shows("#request-answer", "Served by HTTPRoute/shop/cart#checkout")
