import pytest

from bridge.model.keys import Key, parse_key
from bridge.queries.names import (
    AmbiguousNameError,
    CommandError,
    choose,
    join_words,
    not_found,
    read_reference,
    section_not_found,
    short_key,
)

GATEWAY_API = "gateway.networking.k8s.io"
TYPES: dict[str, list[str]] = {
    f"{GATEWAY_API}/HTTPRoute": [],
    f"{GATEWAY_API}/Gateway": [],
    f"{GATEWAY_API}/GatewayClass": [],
    "core/Service": [],
}
CART = parse_key(f"{GATEWAY_API}/HTTPRoute/shop/cart")
OTHER_CART = parse_key(f"{GATEWAY_API}/HTTPRoute/blog/cart")
CATALOG = parse_key(f"{GATEWAY_API}/HTTPRoute/shop/catalog")
CLASS = parse_key(f"{GATEWAY_API}/GatewayClass/-/example")


def _resolve(text: str, *candidates: Key, namespace: str | None = None) -> str:
    return str(choose(read_reference(text, TYPES, namespace), candidates))


@pytest.mark.parametrize(
    "text",
    [
        "httproute/cart",
        "httproutes/cart",
        "HTTPRoute/shop/cart",
        "httproutes.gateway.networking.k8s.io/cart",
        "gateway.networking.k8s.io/httproute/cart",
        "gateway.networking.k8s.io/HTTPRoute/shop/cart",
    ],
)
def test_a_target_has_short_forms_and_a_full_one(text: str) -> None:
    assert _resolve(text, CART) == str(CART)


@pytest.mark.parametrize("section", ["checkout", "[0]"])
def test_a_section_is_kept(section: str) -> None:
    assert _resolve(f"httproute/cart#{section}", CART) == f"{CART}#{section}"


def test_a_mesh_frontend_is_kept() -> None:
    service = parse_key("core/Service/shop/cart")
    assert _resolve("svc/cart@frontend", service) == f"{service}@frontend"


def test_the_namespace_option_decides_between_namespaces() -> None:
    assert _resolve("httproute/cart", CART, OTHER_CART, namespace="blog") == str(OTHER_CART)


def test_a_targets_own_namespace_goes_before_the_option() -> None:
    assert _resolve("httproute/shop/cart", CART, OTHER_CART, namespace="blog") == str(CART)


def test_cluster_scoped_objects_need_no_namespace() -> None:
    assert _resolve("gatewayclass/example", CLASS, namespace="shop") == str(CLASS)


def test_an_ambiguous_target_is_reported_with_all_candidates_and_their_section() -> None:
    with pytest.raises(AmbiguousNameError) as error:
        _resolve("httproute/cart#view", OTHER_CART, CART)
    assert str(error.value) == f"httproute/cart#view may be several objects: {OTHER_CART}#view, {CART}#view"


def test_many_candidates_are_counted() -> None:
    many = [Key(GATEWAY_API, "HTTPRoute", f"team-{number:02}", "cart") for number in range(12)]
    with pytest.raises(AmbiguousNameError, match="and 2 more"):
        _resolve("httproute/cart", *many)


@pytest.mark.parametrize("text", ["cart", "a/b/c/d/e", "httproute/", "/cart", "httproute/cart@backend"])
def test_another_form_is_an_error_that_says_the_right_one(text: str) -> None:
    with pytest.raises(CommandError, match=r"is not a (target|kind): write KIND/NAME"):
        read_reference(text, TYPES)


def test_an_unknown_name_is_reported_with_near_matches_of_its_namespace() -> None:
    error = not_found(read_reference("httproute/crat#view", TYPES, "shop"), [CART, OTHER_CART, CATALOG])
    assert str(error) == "httproute/crat#view is not found in namespace shop; did you mean HTTPRoute/shop/cart#view?"


def test_a_name_that_another_namespace_has_is_shown_there() -> None:
    error = not_found(read_reference("httproute/catalog", TYPES, "blog"), [OTHER_CART, CATALOG])
    assert str(error) == "httproute/catalog is not found in namespace blog; did you mean HTTPRoute/shop/catalog?"


def test_of_equally_similar_objects_the_more_usual_kind_is_first() -> None:
    grpc = parse_key("gateway.networking.k8s.io/GRPCRoute/shop/cart")
    error = not_found(read_reference("route/crat", TYPES), [grpc, CART])
    assert str(error) == "route/crat is not found; did you mean HTTPRoute/shop/cart or GRPCRoute/shop/cart?"


def test_a_name_like_no_other_is_reported_with_the_objects_that_exist() -> None:
    listed = not_found(read_reference("httproute/zzz", TYPES, "shop"), [CART, OTHER_CART, CATALOG])
    assert str(listed).endswith("in namespace shop; existing: HTTPRoute/shop/cart, HTTPRoute/shop/catalog")
    only = not_found(read_reference("httproute/zzz", TYPES), [CART])
    assert str(only) == "httproute/zzz is not found; existing: HTTPRoute/shop/cart"
    none = not_found(read_reference("httproute/zzz", TYPES), [])
    assert str(none) == "httproute/zzz is not found; no HTTPRoute exists"


def test_an_unknown_section_is_reported_with_near_ones_or_with_all() -> None:
    sections = [CART, parse_key(f"{CART}#checkout"), parse_key(f"{CART}#view")]
    near = section_not_found(parse_key(f"{CART}#chekout"), sections)
    assert str(near) == "HTTPRoute/shop/cart has no section 'chekout'; did you mean HTTPRoute/shop/cart#checkout?"
    assert "cart#checkout or HTTPRoute/shop/cart#view" in str(section_not_found(parse_key(f"{CART}#zzz"), sections))


@pytest.mark.parametrize("key", [CART, CLASS, parse_key(f"{CART}#view"), parse_key("core/Service/shop/cart@frontend")])
def test_names_in_tables_can_be_typed(key: Key) -> None:
    assert _resolve(short_key(key), key.object) == str(key)


@pytest.mark.parametrize(
    ("words", "references"),
    [
        (["httproute/cart", "svc/shop/cart"], ["httproute/cart", "svc/shop/cart"]),
        (["httproute", "cart", "basket#view"], ["httproute/cart", "httproute/basket#view"]),
        (["httproute", "shop/cart"], ["httproute/shop/cart"]),
        (["routes"], ["routes"]),
        ([], []),
    ],
)
def test_one_kind_may_precede_several_names(words: list[str], references: list[str]) -> None:
    assert join_words(words) == references


def test_mixture_of_both_forms_is_a_usage_error() -> None:
    with pytest.raises(CommandError, match="write KIND/"):
        join_words(["httproute/cart", "basket"])


def test_kind_alone_means_all_its_objects() -> None:
    assert read_reference("httproutes", {"gateway.networking.k8s.io/HTTPRoute": []}).name == ""
