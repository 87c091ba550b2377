"""The last lines of `pbctl explain` and `pbctl request`: how to look at the proxies."""

from bridge.cli.notation import proxy_lines
from bridge.model.keys import Key

GATEWAYS = [Key("gateway.networking.k8s.io", "Gateway", "net", name) for name in ("a", "b", "c", "d", "e")]


def test_gateways_without_a_command_are_named_once() -> None:
    assert proxy_lines({**dict.fromkeys(GATEWAYS, ""), GATEWAYS[1]: "tool routes b"}) == [
        "The routes in the proxies of Gateway/net/b: tool routes b",
        "Policy Bridge knows no command for the proxies of Gateway/net/a, Gateway/net/c, Gateway/net/d and 1 more",
    ]


def test_no_line_without_gateways() -> None:
    assert proxy_lines({}) == []
