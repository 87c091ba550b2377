import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.model.keys import KeyFormatError, field_name, field_pointer, is_key, parse_key


@given(st.lists(st.sampled_from(["a", "/", "#", "@", "frontend", " ", "\n", "\u00a0", "-"]), max_size=12).map("".join))
@example("a/b/c/d")
@example("a/b/c/d#e@frontend")
@example("core/Service/shop/../infra/gw")
def test_a_key_can_be_parsed_and_gives_the_same_text(text: str) -> None:
    if is_key(text):
        assert str(parse_key(text)) == text
        return
    try:
        key = parse_key(text)
    except KeyFormatError:
        return
    body = str(key.object)
    assert str(key) != text or "#" in key.section + key.role or "@" in key.role or body != body.strip()


def test_a_name_of_blanks_can_be_parsed() -> None:
    assert parse_key("core/Service/shop/\u00a0#80").name == "\u00a0"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/colors/accent", "colors.accent"),
        ("/rules/0/name", "rules[0].name"),
        ("/rules/*/name", "rules[*].name"),
        ("/metadata/labels/example.com~1team", 'metadata.labels["example.com/team"]'),
        ("/a~0b", '["a~b"]'),
        ("", ""),
    ],
)
def test_the_name_of_a_field_is_read_back_as_the_same_field(path: str, name: str) -> None:
    assert field_name(path) == name
    assert field_pointer(name) == path
