"""What the printers make of the queries' answers."""

import json
from typing import Any

import yaml

from bridge.cli.effective import effective_table
from bridge.cli.explain import explanation
from bridge.cli.notation import compact
from bridge.cli.output import to_json, to_yaml
from bridge.cli.status import status_tables
from bridge.cli.table import Table, render
from bridge.queries.statuses import DIFFERS_ANNOTATION, MODE_ANNOTATION, Statuses, objects_with_status

G = "gateway.networking.k8s.io"
RULE = f"{G}/HTTPRoute/shop/cart#view"
PATH = [
    f"{G}/GatewayClass/-/example",
    f"{G}/Gateway/infra/public",
    f"{G}/Gateway/infra/public#https",
    f"{G}/HTTPRoute/shop/cart",
    RULE,
]
BRAND = "example.com/ColorPolicy/infra/brand"
CART = "example.com/ColorPolicy/shop/cart"
ENTRY: dict[str, Any] = {
    "target": RULE,
    "policyKind": "example.com/ColorPolicy",
    "paths": [
        {
            "path": PATH,
            "spec": {"colors": {"accent": "light green"}, "contrast": 7},
            "origins": {"/colors/accent": CART, "/contrast": BRAND},
            "fields": [
                {"field": "/colors/accent", "value": "light green", "policies": [CART]},
                {"field": "/contrast", "value": 7, "policies": [BRAND]},
            ],
            "policies": [
                {
                    "policy": BRAND,
                    "target": f"{G}/Gateway/infra/public",
                    "strategy": "PatchDefaults",
                    "outcome": "PartiallyProgrammed",
                    "overriddenBy": [CART],
                },
                {
                    "policy": CART,
                    "target": f"{G}/HTTPRoute/shop/cart",
                    "strategy": "AtomicDefaults",
                    "outcome": "Programmed",
                    "overriddenBy": [],
                },
            ],
        }
    ],
}


def test_a_path_that_could_not_be_folded_shows_why() -> None:
    failed = {
        **ENTRY,
        "paths": [
            {
                "path": ["…"],
                "error": {"code": "BoundExceeded", "message": "70 policies meet here"},
                "policies": [{"policy": CART, "target": RULE, "strategy": "None"}],
            }
        ],
    }
    assert "error: 70 policies meet here" in render(effective_table([failed]))


def test_listeners_with_the_same_stack_are_one_line() -> None:
    def path_through(listener: str) -> dict[str, Any]:
        gateway = f"{G}/Gateway/infra/edge"
        return {**ENTRY["paths"][0], "path": [gateway, f"{gateway}#{listener}", f"{G}/HTTPRoute/shop/cart", RULE]}

    other = {**path_through("tls"), "fields": [{"field": "/theme", "value": "other", "policies": [CART]}]}
    paths = [path_through("a"), other, *map(path_through, "bcde")]
    vias = [row[2] for row in effective_table([{**ENTRY, "paths": paths}]).rows]
    assert vias == ["infra/edge#a, #b, #c and 2 more", "infra/edge#tls"]
    assert len(effective_table([{**ENTRY, "paths": paths}], wide=True).rows) == 6


def test_a_spec_is_compact_and_unambiguous() -> None:
    spec = {"b": {"y": True, "x": {}}, "a": [1, {"c": None}], "empty": "", "number": "7,5", "ü": "ü"}
    assert compact(spec) == 'a=[1,{"c":null}], b.x={}, b.y=true, empty="", number="7,5", ü=ü'
    assert compact({}) == "{}"


def test_json_and_yaml_are_exactly_the_answer() -> None:
    answer = [ENTRY, ENTRY]
    assert json.loads(to_json(answer)) == answer
    assert yaml.safe_load(to_yaml(answer)) == answer
    assert "&id" not in to_yaml(answer)


def _condition(kind: str, status: str, reason: str, message: str = "why") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


PROGRAMMED = [_condition("Accepted", "True", "Accepted"), _condition("Programmed", "False", "Overridden", "lost")]
REFUSED = [_condition("Accepted", "False", "TargetNotFound", "gone")]


def _status(policy: str, **more: Any) -> dict[str, Any]:
    return {"policy": policy, "policyKind": "example.com/ColorPolicy", "mode": "Manage", "types": [], **more}


def test_a_long_message_is_a_count_and_its_first_three_sentences_unless_wide() -> None:
    sentences = [f"Programmed on {number} scopes" for number in range(5)]
    conditions = [PROGRAMMED[0], _condition("Programmed", "True", "PartiallyProgrammed", ". ".join(sentences))]
    answer = Statuses([_status(BRAND, conditions=conditions)], [])
    assert f"{'. '.join(sentences[:3])}. … and 2 more (-o wide shows them)\n" in render(status_tables(answer)[0])
    assert ". ".join(sentences) in render(status_tables(answer, wide=True)[0])


def test_a_status_kept_by_ancestor_has_a_row_for_each() -> None:
    ancestors = [
        {"ancestorRef": {"group": G, "kind": "Gateway", "namespace": "infra", "name": name}, "conditions": PROGRAMMED}
        for name in ("internal", "public")
    ]
    lines = render(status_tables(Statuses([_status(BRAND, ancestors=ancestors)], []))[0]).splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["Gateway/infra/internal", "Gateway/infra/public"]


def _policy(key: str, **more: Any) -> dict[str, Any]:
    _, kind, namespace, name = key.split("/")
    metadata = {"namespace": namespace, "name": name, **more}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata}


def test_objects_get_our_conditions_and_keep_those_of_others() -> None:
    theirs = _condition("Theirs", "True", "Reason")
    held = {**_policy(BRAND), "status": {"conditions": [theirs], "more": 1}}
    (shown,) = objects_with_status(Statuses([_status(BRAND, conditions=REFUSED)], [], {BRAND: held}))
    assert shown["status"]["more"] == 1
    assert [condition["type"] for condition in shown["status"]["conditions"]] == ["Theirs", "Accepted"]


def test_an_observed_policy_is_marked_by_an_annotation_beside_its_own() -> None:
    wanted = {**_status(BRAND, conditions=REFUSED), "mode": "Observe"}
    held = _policy(BRAND, annotations={"a": "b"})
    (shown,) = objects_with_status(Statuses([wanted], [], {BRAND: held}))
    assert shown["metadata"]["annotations"] == {"a": "b", MODE_ANNOTATION: "Observe"}


WHY = "v.example/c reports Accepted, but Policy Bridge expects TargetNotFound (gone)"


def _reported(**more: Any) -> dict[str, Any]:
    return {"controllerName": "v.example/c", "conditions": [], "says": "Accepted", "outdated": False, **more}


def test_conditions_of_controllers_are_beside_the_verdict_and_differences_have_a_table() -> None:
    reports = [_reported(difference=WHY), _reported(outdated=True)]
    wanted = {**_status(BRAND, conditions=REFUSED), "mode": "Observe", "reported": reports}
    policies, _, differing = status_tables(Statuses([wanted], []))
    assert "Accepted (differs), Accepted (outdated)" in render(policies)
    assert WHY in render(differing)


def test_a_difference_is_an_annotation_of_the_object() -> None:
    wanted = {**_status(BRAND, conditions=REFUSED), "mode": "Observe", "reported": [_reported(difference=WHY)]}
    (shown,) = objects_with_status(Statuses([wanted], [], {BRAND: _policy(BRAND)}))
    assert shown["metadata"]["annotations"] == {MODE_ANNOTATION: "Observe", DIFFERS_ANNOTATION: WHY}


STEPS = [
    {"established": [BRAND], "challenger": [CART], "strategy": "PatchDefaults", "winner": "Challenger", "result": {}}
]


def _explained(target: str = RULE, **path: Any) -> dict[str, Any]:
    (at_path,) = ENTRY["paths"]
    reported = {**at_path, "path": [*PATH[:4], target], "steps": STEPS, "fields": [], **path}
    return {**ENTRY, "target": target, "paths": [reported], "attachments": [], "links": []}


def _explanation(*entries: dict[str, Any]) -> str:
    blocks = explanation(entries)
    return "\n".join(render(block) if isinstance(block, Table) else str(block) for block in blocks)


def test_targets_with_one_explanation_have_it_once() -> None:
    many = [_explained(f"{RULE}-{number}") for number in range(3_000)]
    text = _explanation(*many)
    assert text.count("PATH, FROM THE TOP") == 1
    assert text.splitlines()[-1].startswith("The same at HTTPRoute/shop/cart#view-1, ")
    assert text.endswith(" and 2,991 more, where the paths end")


def test_a_field_that_a_policy_takes_away_is_reported() -> None:
    removed = {"field": "/rate~1limit", "policies": [BRAND]}
    text = _explanation(_explained(fields=[removed, {"field": "/rules/0/id", "value": "a", "policies": [CART]}]))
    assert '["rate/limit"]    (removed)   infra/brand' in text
    assert "rules[0].id       a           shop/cart" in text


def test_ignored_policies_have_a_reason() -> None:
    lost = {"policy": CART, "target": RULE, "reason": "Conflicted", "message": "belongs to the older"}
    link = {"parent": PATH[2], "child": PATH[3], "reason": "NotAllowedByListeners", "message": "see its allowedRoutes"}
    text = _explanation({**_explained(), "paths": [], "attachments": [lost], "links": [link]})
    assert text.startswith("ColorPolicy at HTTPRoute/shop/cart#view: no policy applies here\n")
    assert "shop/cart on HTTPRoute/shop/cart#view                  Conflicted              belongs to the older" in text
    assert "HTTPRoute/shop/cart below Gateway/infra/public#https   NotAllowedByListeners" in text
