import pytest

from bridge.queries.names import AmbiguousNameError, NameNotFoundError, match_kinds, resolve_kind

TYPES = {
    "example.com/ColorPolicy": ["colorpolicies", "colorpolicy", "cp"],
    "gateway.networking.k8s.io/Gateway": [],
    "gateway.networking.k8s.io/GatewayClass": [],
    "gateway.networking.k8s.io/HTTPRoute": [],
    "networking.istio.io/Gateway": ["gateways"],
    "core/Service": [],
}


@pytest.mark.parametrize(
    "text",
    [
        "ColorPolicy",
        "colorpolicy",
        "colorpolicies",
        "CP",
        "example.com/ColorPolicy",
        "example.com/colorpolicies",
        "colorpolicies.example.com",
        "ColorPolicy.example.com",
    ],
)
def test_a_kind_has_the_spellings_that_kubectl_takes(text: str) -> None:
    assert match_kinds(text, TYPES) == ["example.com/ColorPolicy"]


@pytest.mark.parametrize(
    ("text", "type_id"),
    [
        ("svc", "core/Service"),
        ("services", "core/Service"),
        ("core/Service", "core/Service"),
        ("/Service", "core/Service"),
        ("gtw", "gateway.networking.k8s.io/Gateway"),
        ("gc", "gateway.networking.k8s.io/GatewayClass"),
        ("gatewayclasses", "gateway.networking.k8s.io/GatewayClass"),
        ("httproutes.gateway.networking.k8s.io", "gateway.networking.k8s.io/HTTPRoute"),
    ],
)
def test_gateway_apis_kinds_need_no_crd_for_their_short_names(text: str, type_id: str) -> None:
    assert match_kinds(text, TYPES) == [type_id]


def test_a_kind_of_two_groups_is_ambiguous_and_both_are_listed() -> None:
    with pytest.raises(AmbiguousNameError) as error:
        resolve_kind("gateways", TYPES, "kind")
    assert "gateway.networking.k8s.io/Gateway, networking.istio.io/Gateway" in str(error.value)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("networking.k8s.io/HTTPRoute", "HTTPRoute is of the group gateway.networking.k8s.io"),
        ("httproutes.networking.k8s.io", "HTTPRoute is of the group gateway.networking.k8s.io"),
        ("k8s.io/Gateway", "Gateway is of the group gateway.networking.k8s.io or networking.istio.io"),
        ("apps/svc", "Service is of the group core"),
    ],
)
def test_a_group_that_does_not_fit_is_named(text: str, hint: str) -> None:
    with pytest.raises(NameNotFoundError) as error:
        resolve_kind(text, TYPES, "kind")
    assert str(error.value) == f"unknown kind {text!r}; {hint}"


def test_where_nothing_is_near_few_kinds_are_all_listed() -> None:
    with pytest.raises(NameNotFoundError, match="known: ColorPolicy, Gateway"):
        resolve_kind("zzz", {name: TYPES[name] for name in list(TYPES)[:2]}, "kind")


def test_a_source_without_kinds_is_reported() -> None:
    with pytest.raises(NameNotFoundError, match="none exist"):
        resolve_kind("ColorPolicy", {}, "policy kind")


def test_routes_are_all_kinds_of_routes_that_exist() -> None:
    types: dict[str, list[str]] = {
        f"gateway.networking.k8s.io/{kind}": [] for kind in ("GRPCRoute", "HTTPRoute", "Gateway")
    }
    assert match_kinds("routes", types) == [
        "gateway.networking.k8s.io/HTTPRoute",
        "gateway.networking.k8s.io/GRPCRoute",
    ]


def test_suggestions_begin_with_the_most_similar_kind() -> None:
    types: dict[str, list[str]] = {
        f"gateway.networking.k8s.io/{kind}": [] for kind in ("TCPRoute", "HTTPRoute", "Gateway")
    }
    with pytest.raises(NameNotFoundError) as error:
        resolve_kind("xroute", types, "kind")
    assert "did you mean TCPRoute or HTTPRoute?" in str(error.value)
    with pytest.raises(NameNotFoundError) as error:
        resolve_kind("rout", types, "kind")
    assert "did you mean HTTPRoute or TCPRoute?" in str(error.value)
