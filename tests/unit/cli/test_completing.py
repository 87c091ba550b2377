"""What a shell is offered for the names that commands take."""

import threading
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from bridge.cli import completion
from bridge.cli.main import pbctl

SHOP = Path(__file__).parents[3] / "examples" / "shop"
READ = ("--manifests", str(SHOP))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opa_path: Path) -> None:
    monkeypatch.setattr(completion, "PATIENCE", 60.0)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BRIDGE_OPA", str(opa_path))
    for name in ("BRIDGE_OPA_URL", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


def completed(*words: str) -> list[str]:
    *given, incomplete = words
    return [item.value for item in ShellComplete(pbctl, {}, "pbctl", "_").get_completions(given, incomplete)]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("explain", *READ, "Gate"), ["Gateway/", "GatewayClass/"]),
        (("explain", *READ, "httproute/shop/"), [f"httproute/shop/{name}" for name in ("admin", "cart", "storefront")]),
        (("explain", *READ, "svc/shop/as"), ["svc/shop/assets"]),
        (("tree", "-n", "shop", *READ, "httproute/ca"), ["httproute/cart"]),
        (("graph", *READ, "httproute/shop/cart#c"), ["httproute/shop/cart#checkout"]),
        (("impact", *READ, "timeoutpolicy/p"), ["timeoutpolicy/payments/ledger"]),
        (("effective", *READ, "--kind", "C"), ["ColorPolicy"]),
        (("get", "policies", *READ, "-n", "p"), ["payments"]),
        (("request", *READ, "--gateway", "pub"), ["public"]),
        (("request", *READ, "--gateway", "infra/p"), ["infra/public"]),
        (("analyze", *READ, "--delete", "policykind/c"), ["policykind/colorpolicies.example.com"]),
        (("admin", "web"), ["webhook-config"]),
        (("im",), []),
        (("violations", "--manifests", str(SHOP.parent / "constraints"), "mem"), ["memory-limits"]),
    ],
)
def test_names_in_manifests_are_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


def test_sections_of_an_object_are_offered_after_its_hash_mark() -> None:
    assert completed("explain", *READ, "HTTPRoute/shop/cart") == ["HTTPRoute/shop/cart"]
    assert completed("explain", *READ, "HTTPRoute/shop/cart#") == [
        "HTTPRoute/shop/cart#[2]",
        "HTTPRoute/shop/cart#checkout",
        "HTTPRoute/shop/cart#view",
    ]


def test_an_opa_that_hangs_hinders_no_names_and_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opa, started = tmp_path / "opa", tmp_path / "started"
    opa.write_text(f"#!/bin/sh\necho $$ >>{started}\nexec sleep 600\n")
    opa.chmod(0o755)
    monkeypatch.setenv("BRIDGE_OPA", str(opa))
    assert completed("explain", *READ, "svc/shop/as") == ["svc/shop/assets"]
    assert completed("explain", *READ, "HTTPRoute/shop/cart#") == []
    for process in started.read_text().split():
        assert not Path(f"/proc/{process}").exists()


def test_policies_of_a_preset_are_offered_without_a_crd(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(
        "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: open, namespace: shop}\n"
    )
    assert completed("impact", "--manifests", str(tmp_path), "Auth") == ["AuthorizationPolicy/shop/open"]


def test_objects_are_offered_before_the_machine_has_opa(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BRIDGE_OPA", str(tmp_path / "gone"))
    assert completed("explain", *READ, "svc/shop/as") == ["svc/shop/assets"]


def test_paths_are_left_to_the_shell() -> None:
    [item] = ShellComplete(pbctl, {}, "pbctl", "_").get_completions(["status", "--manifests"], "exam")
    assert item.type == "file"


def test_where_nothing_can_be_read_nothing_is_offered_or_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [\n")
    for source in (("--manifests", str(tmp_path / "gone")), ("--manifests", str(broken)), ("--opa", "127.0.0.1:1"), ()):
        assert completed("explain", *source, "HTTPR") == []
    assert capfd.readouterr() == ("", "")


def test_completion_does_not_wait_for_slow_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    async def wait(*_: object) -> list[str]:
        ended.wait()
        return ["HTTPRoute/shop/late"]

    monkeypatch.setattr(completion, "_offered", wait)
    monkeypatch.setattr(completion, "PATIENCE", 0.0)
    assert completed("explain", *READ, "HTTPR") == []
    ended.set()


def test_a_name_that_a_shell_would_obey_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: $(reboot), namespace: shop}\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata: {name: fine, namespace: shop}\n"
    )
    assert completed("explain", "--manifests", str(tmp_path), "Service/") == ["Service/shop/fine"]
