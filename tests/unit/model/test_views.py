import pytest

from bridge.model.keys import Key
from bridge.model.types import GATEWAY_API
from bridge.model.views import View, check_views, view_of


def test_short_forms_name_their_views() -> None:
    assert view_of("all") == View("all")
    assert view_of("GatewayClass/main") == View("main", Key(GATEWAY_API, "GatewayClass", "-", "main"))
    assert view_of("Gateway/infra/a.b") == View("infra.a.b", Key(GATEWAY_API, "Gateway", "infra", "a.b"))
    gateway = Key(GATEWAY_API, "Gateway", "infra", "a")
    assert view_of("Gateway/infra/a=effective") == View("infra.a.effective", gateway, has_answers=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "everything",
        "Gateway",
        "Gateway/infra",
        "Gateway/infra/a/b",
        "GatewayClass/",
        "Service/shop/cart",
        "all=effective",
        "Gateway/a/b=",
        "Gateway/a/b=x",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^publish: .* is not a"):
        view_of(text)


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "a b", "ü", "%41", "-a", "a.", "a" * 254])
def test_name_that_needs_escaping_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name of a view"):
        View(name)


def test_views_with_one_name_or_one_selection_are_refused() -> None:
    gateway = view_of("Gateway/infra/public")
    with pytest.raises(ValueError, match=r"two views have the name infra\.public"):
        check_views((gateway, View("infra.public")))
    with pytest.raises(ValueError, match=r"infra\.public and other both are the view of Gateway/infra/public"):
        check_views((gateway, View("other", gateway.root)))
    assert check_views((gateway, view_of("Gateway/infra/public=effective")))
    assert check_views((gateway, View("other", gateway.root, types=("core/ConfigMap",)), view_of("all")))
