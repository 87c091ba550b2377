"""kubectl's templates. The expected texts of the first table are those of kubectl's own documentation."""

from typing import Any

import pytest

from bridge.cli.templates import Template, custom_columns
from bridge.queries.names import CommandError

# The document of https://kubernetes.io/docs/reference/kubectl/jsonpath/.
NODES: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "127.0.0.1"}},
            "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}]},
        },
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.2"},
            "status": {
                "capacity": {"cpu": "8"},
                "addresses": [
                    {"type": "LegacyHostIP", "address": "127.0.0.2"},
                    {"type": "another", "address": "127.0.0.3"},
                ],
            },
        },
    ],
    "users": [
        {"name": "myself", "user": {}},
        {"name": "e2e", "user": {"username": "admin", "password": "secret"}},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("kind is {.kind}", "kind is List"),
        ("{.kind}", "List"),
        ("{['kind']}", "List"),
        ("{..name}", "127.0.0.1 127.0.0.2 myself e2e"),
        ("{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"),
        ("{.users[0].name}", "myself"),
        ("{.users[-1].name}", "e2e"),
        ("{.users[0:1].name}", "myself"),
        ('{.users[?(@.name=="e2e")].user.password}', "secret"),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
            '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
        ),
        ('{range .items[*]}{.metadata.name}{"\\t"}{end}', "127.0.0.1\t127.0.0.2\t"),
        ("{.items[0].metadata.labels.kubernetes\\.io/hostname}", "127.0.0.1"),
        ("{range .items[*]}{range .status.addresses[*]}{.address};{end}{'|'}{end}", "127.0.0.1;|127.0.0.2;127.0.0.3;|"),
        (".kind", "List"),
        ("kind", "List"),
        ("{.absent.field}", ""),
        ("{@.kind}", "List"),
    ],
)
def test_template_renders_as_kubectl_renders_it(template: str, text: str) -> None:
    assert Template(template).render(NODES) == text


def test_list_is_under_items() -> None:
    assert Template("{.items[*].target}").render([{"target": "a"}, {"target": "b"}]) == "a b"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{.kind", "unmatched '{'"),
        ("{range .items[*]}{.kind}", "without {end}"),
        ("{.kind}{end}", "without {range}"),
        ("{.items[*}", "is not a path"),
        ("{.items[?(@.a==]}", "is not a path"),
    ],
)
def test_malformed_template_is_a_usage_error(template: str, reason: str) -> None:
    with pytest.raises(CommandError) as error:
        Template(template)
    assert reason in str(error.value)


def test_custom_columns_make_a_row_for_each_item() -> None:
    table = custom_columns(
        "NAME:.metadata.name,CPU:.status.capacity.cpu,ALL:.status.addresses[*].address", NODES["items"]
    )
    assert table.titles == ["NAME", "CPU", "ALL"]
    assert table.rows == [["127.0.0.1", "4", "127.0.0.1"], ["127.0.0.2", "8", "127.0.0.2,127.0.0.3"]]


def test_absent_field_of_a_custom_column_is_none() -> None:
    assert custom_columns("A:.absent", [{}]).rows == [["<none>"]]


@pytest.mark.parametrize("text", ["NAME", ":.a", "NAME:", "A:.a,,B:.b"])
def test_malformed_custom_column_is_a_usage_error(text: str) -> None:
    with pytest.raises(CommandError, match="HEADER:PATH"):
        custom_columns(text, [{}])
