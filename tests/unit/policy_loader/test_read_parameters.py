"""Which parameters the Rego of a guardrail reads is known only where it writes each name out."""

import json
from typing import Any

import pytest

from bridge.policy_loader.read_parameters import read_parameters

MINE = ("bridge", "guardrails", "mine")
HEAD = "package bridge.guardrails.mine\n\n"
BY_NAME = "violations contains 1 if input.parameters.first\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("violations contains input.parameters.first[x].y if input.review.object.parameters[x]", {"first"}),
        (
            'violations contains 1 if input.parameters["first-one"] != input["parameters"][`second`]',
            {"first-one", "second"},
        ),
        ('violations contains 1 if object.get(input.parameters, "first", "third") == 1', {"first"}),
        ('violations contains 1 if object.get(input.parameters, ["first", "third"], 1) == 1', {"first"}),
        (
            "import data.bridge.lib.keys\nimport rego.v1\nimport data.bridge.guardrails.mine.helpers\n" + BY_NAME,
            {"first"},
        ),
        ("violations_at(target, given, _) := {given.first, object.get(given, `second`, 1)}", {"first", "second"}),
        ("violations_at(target, _, _) := {target.parameters}", set()),
        ("# passes input.parameters on, or data.acme\n" + BY_NAME, {"first"}),
        ('violations contains "walk(input.parameters, \\" x)" if `" input`\n' + BY_NAME, {"first"}),
        ('violations contains "it\'s # input.parameters.third" if input.parameters.first # "', {"first"}),
    ],
)
def test_parameters_that_are_read_by_written_names_are_known(text: str, names: set[str]) -> None:
    assert read_parameters(MINE, [(MINE, HEAD + text)]).names == frozenset(names)


@pytest.mark.parametrize(
    "text",
    [
        "violations contains 1 if some name, value in input.parameters",
        "violations contains 1 if walk(input.parameters, [path, value])",
        "violations contains 1 if input.parameters[name]",
        'violations contains 1 if input.parameters["fi\\u0072st"]',
        'violations contains 1 if input["par\\u0061meters"].first',
        'violations contains 1 if object.get(input.parameters, sprintf("x-%s", [y]), 1)',
        'violations contains 1 if object.get(input.parameters, ["first", "second"][i], 1)',
        'violations contains 1 if object.get(input, ["parameters", "first"], 1)',
        'violations contains 1 if object.get(input, "parameters", {}).first',
        "violations contains 1 if input[field].first",
        "violations contains 1 if helper(input)",
        "import input as given\nviolations contains 1 if given.parameters.first",
        "import input.parameters as given\nviolations contains 1 if given.first",
        "violations contains $`{input.parameters}`",
        'violations contains $"{input.parameters}"',
        "import data.acme.lib\nviolations contains 1 if lib.denies",
        "import data.bridge.guardrails.other\nviolations contains 1 if other.denies",
        "import data.bridge\nviolations contains 1 if bridge.guardrails.other.denies",
        "violations contains 1 if data[name].denies",
        "violations_at(target, parameters, _) := helper(parameters)",
        "violations_at(target, {`first`: x}, _) := {x}",
        "violations_at(target, given, _) := given[target.route]",
        "violations contains policy_bridge_lost(true)",
    ],
)
def test_parameters_of_rego_that_may_read_them_all_are_unknown(text: str) -> None:
    assert read_parameters(MINE, [(MINE, HEAD + text)]).names is None
    assert read_parameters(MINE, [(MINE, HEAD + BY_NAME), (MINE, HEAD + text)]).names is None


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ('parameters_schema := {"type": "object"}', {"type": "object"}),
        (
            'parameters_schema = {`a`: [1.5, -2, true, null,], "b": {"c": "}# ,]\\u00e9"},}\n\nx := 1',
            {"a": [1.5, -2, True, None], "b": {"c": "}# ,]é"}},
        ),
        ("parameters_schema := { # what\n\t`a`: 1, # all\n} # end\n\n# METADATA\n_x := 1", {"a": 1}),
        ("default parameters_schema := {}", {}),
        ("parameters_schema := {}\nviolations contains {\n`x`: y} if {\nparameters_schema.y\n}", {}),
    ],
)
def test_a_schema_that_is_written_out_is_taken_as_it_is(text: str, declared: dict[str, Any]) -> None:
    [schema] = read_parameters(MINE, [(MINE, HEAD + text)]).schemas
    assert schema is not None
    assert json.loads(schema) == declared


@pytest.mark.parametrize(
    "text",
    [
        'parameters_schema := {"type": t} if some t in data.acme.types',
        "parameters_schema := {} if data.acme.types",
        "parameters_schema := {}\n\tif data.acme.types",
        "parameters_schema = {} { data.acme.types }",
        "parameters_schema := {} | data.acme.schema",
        "parameters_schema := {}\n\t| data.acme.schema",
        "parameters_schema := {}\nparameters_schema := {}",
        "default parameters_schema := {}\nparameters_schema := {`a`: 1} if data.acme.x",
        "parameters_schema.properties.a := {}",
        "parameters_schema contains 1",
        "parameters_schema := {`a`, `b`}",
        "parameters_schema := {`a`: NaN}",
        "parameters_schema := {`a`: 1e999}",
        "parameters_schema := {`a`: x | some x in [1]}",
        'parameters_schema := {"a": "\\ud800"}',
        "parameters_schema := {`a`: " + "[" * 100_000 + "]" * 100_000 + "}",
        "parameters_schema := {`a`: 1",
        "parameters_schema := data.acme.schema",
    ],
)
def test_a_schema_that_would_have_to_be_evaluated_is_none(text: str) -> None:
    assert read_parameters(MINE, [(MINE, HEAD + text)]).schemas == (None,)


def test_only_a_rule_of_the_guardrail_itself_is_its_schema() -> None:
    rules = "parameters_schema(x) := x\nviolations contains 1 if {\nparameters_schema(1)\n}\n"
    below = (*MINE, "helpers")
    found = read_parameters(MINE, [(MINE, HEAD + rules), (below, "package x\n\nparameters_schema := {}\n")])
    assert found.schemas == ()
