import time
from collections.abc import Callable

import pytest

from bridge.sources.yaml import BrokenDocument, Document, Lines, number_of, read_documents


def value_of(text: str) -> object:
    (document,) = read_documents(text)
    assert isinstance(document, Document), document
    return document.value


def test_documents_have_their_numbers_and_lines_and_empty_ones_are_left_out() -> None:
    text = "# a comment\n---\n---\na: 1\n---\n# nothing\n---\nnull\n--- {b: 2}\n...\n%YAML 1.1\n---\n\nc: 3\n"
    assert list(read_documents(text)) == [Document(1, 4, {"a": 1}), Document(2, 9, {"b": 2}), Document(3, 14, {"c": 3})]


def test_a_broken_document_does_not_hide_the_others() -> None:
    documents = list(read_documents("a: 1\n---\nb: 1\nc: d: e\n---\nf: 1\n"))
    assert documents == [
        Document(1, 1, {"a": 1}),
        BrokenDocument(2, 4, "invalid YAML: mapping values are not allowed in this context"),
        Document(3, 6, {"f": 1}),
    ]


def test_windows_line_ends_are_read() -> None:
    assert list(read_documents("a: 1\r\n---\r\nb: 2\r\n")) == [Document(1, 1, {"a": 1}), Document(2, 3, {"b": 2})]


def test_a_separator_inside_a_block_of_text_is_text() -> None:
    assert value_of("a: |\n  x\n  ---\n  y\n") == {"a": "x\n---\ny\n"}


def test_the_lines_of_a_lists_items_are_reported() -> None:
    (document,) = read_documents("\nkind: List\nitems:\n- a: 1\n  b: 2\n- a: 3\n")
    assert isinstance(document, Document)
    assert (document.line, document.item_lines) == (2, (4, 6))


@pytest.mark.parametrize(
    ("text", "value"),  # each as `kubectl label --local -o json` prints it
    [
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("12:30", "12:30"),
        ("190:20:30.15", "190:20:30.15"),
        ("=", "="),
        ("on", True),
        ("Off", False),
        ("yes", True),
        ("NO", False),
        ("y", True),
        ("n", False),
        ("TRUE", True),
        ("tRue", "tRue"),
        ("~", None),
        ("NULL", None),
        ("", None),
        ("0777", 511),
        ("0o14", 12),
        ("0x1F", 31),
        ("-0x1F", -31),
        ("0b11", 3),
        ("08", 8),
        ("+5", 5),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.5e+3", 1500),
        (".5", 0.5),
        ("-1.", -1),
        ("1.10", 1.1),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("1.2.3", "1.2.3"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("1h", "1h"),
        ("'on'", "on"),
    ],
)
def test_a_plain_value_is_read_as_kubectl_reads_it(text: str, value: object) -> None:
    found = value_of(f"a: {text}\n")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_keys_become_text() -> None:
    assert value_of("2: a\ntrue: b\n1.5: c\n~: d\n") == {"2": "a", "true": "b", "1.5": "c", "null": "d"}


def test_aliases_and_merges_unfold_into_values_of_their_own() -> None:
    value = value_of("a: &x {b: [1], c: 3}\nd: *x\ne: {<<: *x, c: 2}\n")
    assert value == {"a": {"b": [1], "c": 3}, "d": {"b": [1], "c": 3}, "e": {"b": [1], "c": 2}}
    assert isinstance(value, dict)
    assert value["a"]["b"] is not value["d"]["b"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: .inf", "not a number that JSON supports"),
        ("a: 1e999", "not a number that JSON supports"),
        ("a: 1\nb: 2\na: 3", "duplicate key 'a'"),
        ("a: &x [*x]", "contains itself"),
        ("a: !!set {b}", "a set has no equivalent in JSON"),
        ("a: !secret b", "a !secret has no equivalent in JSON"),
        ("? [1, 2]\n: 3", "unhashable key"),
        ("a: [" + "[" * 3000, "YAML that JSON cannot represent"),
        ("a:\n\tb: 1", "cannot start any token"),
        ("a: \x07", "control characters are not allowed"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)),
            "expand to more than",
        ),
    ],
)
def test_values_that_json_cannot_hold_are_broken(text: str, reason: str) -> None:
    (document,) = read_documents(text)
    assert isinstance(document, BrokenDocument)
    assert reason in document.reason
    assert "\n" not in document.reason


def test_json_values_may_follow_each_other() -> None:
    text = '{"a": "\\ud83d\\ude00\\/"}\n{"b":\t1}\n'
    assert list(read_documents(text)) == [Document(1, 1, {"a": "😀/"}), Document(2, 2, {"b": 1})]


def test_yaml_that_begins_with_a_brace_is_yaml() -> None:
    assert list(read_documents("{a: 1}\n---\nb: 2\n")) == [Document(1, 1, {"a": 1}), Document(2, 3, {"b": 2})]


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('{"a": 1,\n "b" 2}', BrokenDocument(1, 2, "invalid JSON: Expecting ':' delimiter")),
        ('\n{"a": 1, "a": 2}', BrokenDocument(1, 2, "invalid JSON: duplicate key 'a'")),
        ('{"a": NaN, "a": 1}', BrokenDocument(1, 1, "invalid JSON: NaN is not a number that JSON supports")),
    ],
)
def test_broken_json_is_reported_with_its_line(text: str, broken: BrokenDocument) -> None:
    assert list(read_documents(text)) == [broken]


@pytest.mark.parametrize(
    "text", ["{{- if .Values.on }}\nkind: A\n", "kind: A\nmetadata: {name: {{ .Release.Name }}}\n"]
)
def test_an_error_in_a_template_names_the_tool_that_renders_it(text: str) -> None:
    (document,) = read_documents(text)
    assert isinstance(document, BrokenDocument)
    assert document.reason.startswith("invalid ")
    assert document.reason.endswith("read the output of its tool, such as `helm template`")


def test_a_word_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        number_of("five")


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "? " * 100_000, "a: {b: " * 50_000, "&a " * 100_000])
def test_endless_nesting_is_reported_and_ends_nothing(text: str) -> None:
    (document,) = read_documents(text)
    assert isinstance(document, BrokenDocument)


def aliased(depth: int) -> str:
    """A document that is flat as it is written, and nests by its aliases."""
    anchors = "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, depth))
    return f"a0: &a0 [1]\n{anchors}"


def merged(depth: int) -> str:
    return "a0: &a0 {b: 1}\n" + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}}}\n" for n in range(1, depth))


@pytest.mark.parametrize("depth", [300, 970, 3_000])
@pytest.mark.parametrize(
    "text",
    [
        lambda depth: "a: " + "[" * depth + "]" * depth,
        lambda depth: "a: " + "{a: " * depth + "1" + "}" * depth,
        lambda depth: "- " * depth + "1",
        lambda depth: "\n".join(" " * n + "a:" for n in range(depth)),
        lambda depth: "\n".join(" " * n + "?" for n in range(depth)),
        lambda depth: '{"a":' * depth + "1" + "}" * depth,
        aliased,
    ],
    ids=["flow lists", "flow mappings", "compact lists", "blocks", "complex keys", "JSON", "aliases"],
)
def test_document_that_is_too_deep_is_broken_and_hides_no_other(text: Callable[[int], str], depth: int) -> None:
    first, deep, last = read_documents(f"a: 1\n---\n{text(depth)}\n---\nb: 2\n")
    assert isinstance(deep, BrokenDocument)
    assert "nested more than 200 levels deep" in deep.reason
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert (first.value, last.value) == ({"a": 1}, {"b": 2})


def test_merge_keys_may_refer_to_each_other() -> None:
    [found] = read_documents(merged(5_000))
    assert isinstance(found, Document)
    assert found.value["a4999"] == {"b": 1}


@pytest.mark.parametrize(
    "text",
    [
        "a: !!timestamp {!!value x: y}",
        'a: !!int {!!value x: ""}',
        "a: !!bool {!!value x: zzz}",
        "a: !!float [1]",
        "a: !!map x",
        "a: !!binary {!!value x: y}",
        "a: !!binary \u00e9",
        "a: !!set {x}",
        "a: !!omap [{x: 1}]",
        "a: !!python/object:os.system {}",
        "a: 0x" + "f" * 5000,
        "a: 0o" + "7" * 5000,
        "a: " + "1" * 5000,
        '{"a": 1e400}',
    ],
)
def test_tags_of_another_kind_of_node_and_unbounded_numbers_are_problems(text: str) -> None:
    (document,) = read_documents(text)
    assert isinstance(document, BrokenDocument)
    assert len(document.reason) < 300


def test_merge_keys_are_counted_before_they_expand() -> None:
    levels = [f"k{n}: &k{n} {{<<: [{', '.join([f'*k{n - 1}'] * 10)}]}}" for n in range(1, 30)]
    (document,) = read_documents("\n".join(["k0: &k0 {" + ", ".join(f"x{n}: 1" for n in range(100)) + "}", *levels]))
    assert isinstance(document, Document)
    assert len(document.value["k29"]) == 100


def test_many_values_of_json_are_read_in_linear_time() -> None:
    begin = time.process_time()
    assert len(list(read_documents("{}" * 120_000))) == 120_000
    assert time.process_time() - begin < 3


def test_text_of_an_anchor_is_counted_for_each_alias() -> None:
    text = f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 5_000)}]"
    (document,) = read_documents(text)
    assert isinstance(document, BrokenDocument)
    assert "expand to more than" in document.reason


@pytest.mark.parametrize("text", ["1", "{a,b}", "-\n-\n", "[[],{}]", "- {a: 1, b: [x]}\n" * 9, "a:\nb:\n", "a: é\n"])
def test_text_without_aliases_is_within_the_count(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.sources.yaml._MAX_EXPANSION", 0)
    (document,) = read_documents(text)
    assert isinstance(document, Document)


def test_unexpected_error_is_a_problem_of_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr("bridge.sources.yaml.Construction.of", fail)
    first, second = read_documents("a: 1\n---\n{}")
    assert first == BrokenDocument(1, 1, "it cannot be read (LookupError): simplify it")
    assert isinstance(second, Document)


def test_anchor_may_be_defined_again_within_a_document() -> None:
    text = "a: &x {b: &y 1}\nc: [*x, *y]\nd: &y {<<: *x, e: &x 2}\nf: [*x, *y]"
    assert value_of(text) == {"a": {"b": 1}, "c": [{"b": 1}, 1], "d": {"b": 1, "e": 2}, "f": [2, {"b": 1, "e": 2}]}
    assert Lines("---\n" + text).of(2, ("d", "e")) == 4


def test_anchor_defined_again_hides_no_undefined_alias() -> None:
    [broken] = read_documents("a: &x 1\nb: &x 2\nc: *z")
    assert isinstance(broken, BrokenDocument)
    assert (broken.line, broken.reason) == (3, "invalid YAML: found undefined alias 'z'")
