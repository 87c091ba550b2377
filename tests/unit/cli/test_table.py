import sys
from collections import Counter
from collections.abc import Sequence

import pytest

from bridge.cli.table import Fields, Lines, Table, display_width, print_tables, render
from bridge.model.text import TIE

COLUMNS = ["TARGET", "VIA", "POLICIES"]
ROWS = [
    ["HTTPRoute/shop/cart", "infra/public", f"infra/brand{TIE}(partly), shop/cart"],
    ["HTTPRoute/shop/storefront", "-", "infra/brand"],
]


def test_columns_are_padded_by_spaces_and_nothing_trails() -> None:
    assert render(Table(COLUMNS, [*ROWS])) == (
        "TARGET                      VIA            POLICIES\n"
        "HTTPRoute/shop/cart         infra/public   infra/brand (partly), shop/cart\n"
        "HTTPRoute/shop/storefront   -              infra/brand\n"
    )


def test_a_narrow_terminal_breaks_cells_between_words_but_not_at_a_tie() -> None:
    rows: list[Sequence[str]] = [
        ["Gateway/infra/public", f"infra/brand{TIE}(partly), shop/storefront{TIE}(overridden), shop/cart"]
    ]
    assert render(Table(["TARGET", "POLICIES"], rows), 65) == (
        "TARGET                 POLICIES\n"
        "Gateway/infra/public   infra/brand (partly),\n"
        "                       shop/storefront (overridden), shop/cart\n"
    )


def test_only_the_longest_cells_are_below_their_row() -> None:
    rows: list[Sequence[str]] = [
        ["infra", "public", "80,443", "ColorPolicy/infra/brand, ColorPolicy/infra/accessibility on #https"]
    ]
    table = Table(["NAMESPACE", "NAME", "PORTS", "POLICIES"], rows, long=("PORTS",))
    assert render(table, 60).splitlines()[0] == "NAMESPACE   NAME     PORTS"


def test_a_place_that_is_longer_than_its_line_begins_a_new_one_and_is_whole() -> None:
    place = "clusters/production/europe-west/namespaces/shop/policies/colors.yaml:1201"
    lines = render(Table(["OBJECT", "WHERE"], [["ColorPolicy/shop/cart", place]]), 80).splitlines()
    assert lines == ["OBJECT", "ColorPolicy/shop/cart", "  WHERE", f"    {place}"]


def test_fields_have_no_titles_and_continue_beside_their_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    print_tables([Fields([("Name", "cart"), ("Section", ""), ("Above", "Gateway/infra/a, Gateway/infra/b")])])
    assert capsys.readouterr().out == "Name:    cart\nAbove:   Gateway/infra/a,\n         Gateway/infra/b\n"


def test_on_a_narrower_terminal_long_cells_are_below_their_row() -> None:
    assert render(Table(COLUMNS, [*ROWS]), 45) == (
        "TARGET                      VIA\n"
        "HTTPRoute/shop/cart         infra/public\n"
        "  POLICIES   infra/brand (partly), shop/cart\n"
        "HTTPRoute/shop/storefront   -\n"
        "  POLICIES   infra/brand\n"
    )


def test_no_line_is_wider_than_the_terminal_even_where_words_must_be_broken() -> None:
    for width in range(34, 120):
        assert max(map(display_width, render(Table(COLUMNS, [*ROWS]), width).splitlines())) <= width


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert display_width("日本") == 4
    assert display_width("e\N{COMBINING ACUTE ACCENT}") == 1


def test_characters_that_a_terminal_would_obey_are_blanked() -> None:
    assert "\x1b" not in render(Table(["NAME"], [["a\x1b[31mb\nc"]]))


def test_outcomes_have_colours_only_where_requested_and_padding_does_not_count_them() -> None:
    table = Table(["STATE", "NAME"], [["Overridden", "Overridden"], ["True", "x"]])
    assert "\x1b" not in render(table)
    lines = render(table, colors=True).splitlines()
    assert lines[1] == "\x1b[31mOverridden\x1b[0m   Overridden"
    assert lines[2] == "\x1b[32mTrue\x1b[0m         x"


def test_a_name_that_holds_the_word_of_an_outcome_has_no_colour() -> None:
    table = Table(["POLICIES"], [["shop/Overridden, partly-done"]])
    assert "\x1b" not in render(table, colors=True)


def test_an_empty_column_can_be_left_out() -> None:
    table = Table(["A", "B", "C"], [["1", "", "3"], ["4", "", ""]]).without_empty("B", "C")
    assert table.titles == ["A", "C"]
    assert table.rows == [["1", "3"], ["4", ""]]


def test_optional_columns_are_dropped_before_cells_move_below() -> None:
    table = Table(["NAME", "CLASS", "TARGET"], [["catalog-metrics", "Inherited", "Service/catalog"]], spare=("CLASS",))
    hint = "Not shown in this width: CLASS\n"
    assert render(table, 40) == f"NAME              TARGET\ncatalog-metrics   Service/catalog\n{hint}"
    assert render(table, 30) == f"NAME\ncatalog-metrics\n  TARGET   Service/catalog\n{hint}"
    assert "Not shown" not in render(table, 60)
    assert "Not shown" not in render(table)


def test_lines_of_a_long_value_stay_together_below_their_row() -> None:
    rows = [
        ["limits", "rates:"],
        ["", f"-{TIE}limit: 20 requests a minute for each partner"],
        ["", f"{TIE}{TIE}window: 60s"],
    ]
    assert render(Table(["FIELD", "VALUE"], [*rows]), 34).splitlines() == [
        "FIELD",
        "limits",
        "  VALUE   rates:",
        "          - limit: 20 requests a",
        "          minute for each partner",
        "            window: 60s",
    ]


def test_table_without_headers_has_only_its_rows() -> None:
    table = Table(["NAME", "CLASS"], [["catalog", "Inherited"]])
    assert render(table, headers=False) == "catalog   Inherited\n"


def test_the_least_important_columns_are_dropped_first_and_alone() -> None:
    row = ["catalog", "Inherited", "Service/catalog", "14d"]
    table = Table(["NAME", "CLASS", "TARGET", "AGE"], [row], spare=("AGE", "CLASS"))
    assert render(table, 42).splitlines()[0].split() == ["NAME", "CLASS", "TARGET", "AGE"]
    assert render(table, 38).splitlines()[0].split() == ["NAME", "CLASS", "TARGET"]
    assert render(table, 28).splitlines()[0].split() == ["NAME", "TARGET"]


def test_cells_without_a_value_are_not_below_their_row() -> None:
    routes = [["callbacks", "<none>", "callbacks.example.com"], ["cart", "ColorPolicy/cart", "cart.example.com"]]
    assert render(Table(["NAME", "POLICIES", "HOSTNAMES"], [*routes]), 34).splitlines() == [
        "NAME        HOSTNAMES",
        "callbacks   callbacks.example.com",
        "cart        cart.example.com",
        "  POLICIES   ColorPolicy/cart",
    ]


def test_the_policies_of_a_narrow_tree_are_below_their_node_within_its_branches() -> None:
    rows = [
        ["Gateway/infra/public", "ColorPolicy/infra/brand\u00a0(partly), ColorPolicy/infra/accessibility"],
        ["\u251c\u2500\u00a0#http", ""],
        ["\u2514\u2500\u00a0#https", "ColorPolicy/infra/accessibility"],
    ]
    assert render(Table(["HIERARCHY", "POLICIES"], [*rows]), 50).splitlines() == [
        "HIERARCHY",
        "Gateway/infra/public",
        "   ColorPolicy/infra/brand (partly),",
        "   ColorPolicy/infra/accessibility",
        "\u251c\u2500 #http",
        "\u2514\u2500 #https",
        "      ColorPolicy/infra/accessibility",
    ]


def test_columns_move_together_before_a_name_is_broken() -> None:
    columns = ["NAMESPACE", "NAME"]
    assert render(Table(columns, [["payments-eu", "catalog-metrics"]]), 28).splitlines() == [
        "NAMESPACE    NAME",
        "payments-eu  catalog-metrics",
    ]


def test_a_name_that_must_be_broken_is_broken_between_its_parts() -> None:
    table = Table(["NAME"], [["gateway.networking.x-k8s.io/XBackendTrafficPolicy"]])
    assert render(table, 30).splitlines()[1:] == ["gateway.networking.x-k8s.io/", "XBackendTrafficPolicy"]
    assert render(Table(["NAME"], [["a" * 50]]), 30).splitlines()[1:] == ["a" * 30, "a" * 20]


def test_wide_characters_are_broken_by_their_width() -> None:
    lines = render(Table(["NAME"], [["\u65e5\u672c" * 30]]), 31).splitlines()
    assert max(map(display_width, lines)) <= 31


def test_a_table_of_many_columns_fits_every_width_and_loses_no_character() -> None:
    titles = ["NAMESPACE", "NAME", "KIND", "TARGET", "ACCEPTED", "PROGRAMMED", "PATHS", "AGE"]
    names = [
        "catalog-metrics",
        "\u8def\u7531-\u8d2d\u7269\u8f66" * 3,
        "\u05de\u05e1\u05dc\u05d5\u05dc-\u05e2\u05d2\u05dc\u05d4",
    ]
    rows = [["shop", name, "ColorPolicy", "HTTPRoute/cart", "True", "False", "3/4", "14d"] for name in names]
    table = Table(titles, [*rows])
    content = Counter("".join(cell for row in rows for cell in row))
    for width in range(30, 130):
        lines = render(table, width).splitlines()
        assert max(map(display_width, lines)) <= width
        assert Counter("".join(lines)) >= content


def test_a_row_that_does_not_fit_continues_below_it_with_the_titles_of_its_columns() -> None:
    columns = ["NAME", "KIND", "ACCEPTED", "PROGRAMMED"]
    assert render(Table(columns, [["catalog-metrics", "TimeoutPolicy", "True", "False"]]), 38) == (
        "NAME              KIND\ncatalog-metrics   TimeoutPolicy\n  ACCEPTED     True\n  PROGRAMMED   False\n"
    )


def test_a_cell_of_several_lines_is_below_its_row_at_a_terminal_and_one_line_elsewhere() -> None:
    lines = ["limits:", f"- limit: 20{TIE} ", f"{TIE}{TIE}window: of a minute and some seconds"]
    row = ["HTTPRoute/shop/cart", Lines("limits=[…]", lines), "shop/cart"]
    table = Table(["TARGET", "EFFECTIVE", "POLICIES"], [row])
    assert render(table, 40) == (
        "TARGET                POLICIES\n"
        "HTTPRoute/shop/cart   shop/cart\n"
        "  EFFECTIVE   limits:\n"
        "              - limit: 20\n"
        "                window: of a minute and\n"
        "                  some seconds\n"
    )
    assert render(table).splitlines()[1] == "HTTPRoute/shop/cart   limits=[…]   shop/cart"


def test_outcome_of_a_few_words_is_broken_beside_its_policy() -> None:
    table = Table(["PATH, FROM THE TOP", "POLICY", "STRATEGY", "OUTCOME"])
    table.rows.append(["Gateway/infra/public", "infra/brand", "PatchOverrides", "Programmed"])
    table.rows.append(["HTTPRoute/shop/cart", "shop/cart", "PatchDefaults", "partly, overridden by infra/brand"])
    assert render(table, 70).splitlines() == [
        "PATH, FROM THE TOP     POLICY        STRATEGY         OUTCOME",
        "Gateway/infra/public   infra/brand   PatchOverrides   Programmed",
        "HTTPRoute/shop/cart    shop/cart     PatchDefaults    partly,",
        "                                                      overridden by",
        "                                                      infra/brand",
    ]
