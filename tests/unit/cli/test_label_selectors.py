"""Label selectors as kubectl takes them."""

import pytest

from bridge.cli.selector import parse_selector
from bridge.queries.names import CommandError

LABELS = {"app": "web", "example.com/tier": "front"}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,example.com/tier=front", True),
        ("app=web,example.com/tier=back", False),
        ("app != db", True),
        ("none!=db", True),
        ("app in (db, web)", True),
        ("app notin (db,web)", False),
        ("none notin (a)", True),
        ("app", True),
        ("!app", False),
        ("!none,app in (web),example.com/tier", True),
    ],
)
def test_all_requirements_must_hold(text: str, selected: bool) -> None:
    assert parse_selector(text)(LABELS) == selected


@pytest.mark.parametrize("text", ["a~b", "a in b", "=x", "a=b,,c"])
def test_another_form_is_reported_with_the_right_one(text: str) -> None:
    with pytest.raises(CommandError, match="is not a valid requirement: write key=value"):
        parse_selector(text)
