"""Envoy Gateway's own translator is the judge of its preset: `egctl experimental translate` on random clusters.

Compared are the fields in effect on each rule below each listener, and the verdict on each policy. A failure names the
seeds; `pbctl effective -A --manifests FILE` and `egctl x translate -f FILE --to ir` show the two answers.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hack.tools.building import go_command
from tests.e2e.conftest import Run
from tests.e2e.random_envoy_gateway import CLASS, ENVOY, Object, classes, random_cluster

EGCTL = ("github.com/envoyproxy/gateway/cmd/egctl", "v1.9.1")  # as the CRDs of hack/tools/vendor_crds.py
CLUSTERS, BATCH = 200, 10
PATIENCE = 600.0  # seconds for a translation

# Envoy Gateway accepts a policy for a Gateway without routes. It reports nothing about the Gateways of other
# controllers, where the bridge compares the policies of one target and the ports of listeners too.
REPORTED_OTHERWISE = {("NoScope", "Accepted"), ("NoScope", "None"), ("Conflicted", "None"), ("Invalid", "None")}

Place = tuple[str, ...]  # policy kind, Gateway `namespace/name`, listener; for rules also the route and its rule
Fields = dict[str, Any]


@pytest.mark.long
def test_policies_act_as_envoy_gateway_translates_them(
    bridge: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    egctl = go_command(*EGCTL)
    agreeing, differences = 0, list[str]()
    for first in range(0, CLUSTERS, BATCH):
        clusters = {seed: random_cluster(seed) for seed in range(first, first + BATCH)}
        file = tmp_path / f"clusters-{first}.yaml"
        theirs = _translated(egctl, file, [obj for objects in clusters.values() for obj in objects])
        file.write_text(_dumped([*classes(), *(obj for objects in clusters.values() for obj in objects)]))
        ours = _answered(bridge, file)
        for seed in clusters:
            found = _differing(f"c{seed}/", ours, theirs)
            agreeing += not found
            differences += [f"seed {seed}: {one}" for one in found]
    found_equal = f"{agreeing} of {CLUSTERS} random clusters agree with Envoy Gateway's translator"
    request.config.get_terminal_writer().line(found_equal)
    assert differences == []


class Answers:
    """What is in effect at each place, and by policy `namespace/name` of a kind its verdict."""

    def __init__(self) -> None:
        self.effective: dict[Place, Fields] = {}
        self.verdicts: dict[tuple[str, str], str] = {}
        self.displaced: dict[tuple[str, str], bool | None] = {}  # None: in part
        self.shared: set[Place] = set()  # listeners whose own policies share a port, and so are refused


def _differing(prefix: str, ours: Answers, theirs: Answers) -> list[str]:
    """The differences between two answers about one cluster."""
    places = {place for place in ours.effective.keys() | theirs.effective.keys() if place[1].startswith(prefix)}
    found = [
        f"{place}: the bridge has {ours.effective.get(place, {})}, Envoy Gateway {theirs.effective.get(place, {})}"
        for place in sorted(places)
        if ours.effective.get(place, {}) != theirs.effective.get(place, {}) and place not in theirs.shared
    ]
    for policy in sorted(key for key in ours.verdicts.keys() | theirs.verdicts.keys() if key[1].startswith(prefix)):
        one, other = ours.verdicts.get(policy, "None"), theirs.verdicts.get(policy, "None")
        if one != other and (one, other) not in REPORTED_OTHERWISE:
            found.append(f"{policy}: the bridge says {one}, Envoy Gateway {other}")
        elif ours.displaced.get(policy) is True and theirs.displaced.get(policy) is False:
            found.append(f"{policy}: the bridge says Overridden, Envoy Gateway does not")
        elif ours.displaced.get(policy) is None and theirs.displaced.get(policy) is False:
            found.append(f"{policy}: the bridge says PartiallyProgrammed, Envoy Gateway reports no other policy")
    return found


def _dumped(objects: Iterable[Object]) -> str:
    return yaml.safe_dump_all(objects)


def _translated(egctl: Path, file: Path, objects: list[Object]) -> Answers:
    """Envoy Gateway's answers. It translates one class, and takes policies in the order of the file."""
    kept = [obj for obj in classes() if obj["metadata"]["name"] == CLASS]
    ordered = sorted(objects, key=lambda obj: (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))
    file.write_text(_dumped([*kept, *ordered]))
    options = ("--from=gateway-api", "--to=ir", "--add-missing-resources", "--output=json", f"--file={file}")
    done = subprocess.run(
        [egctl, "experimental", "translate", *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    answers = Answers()
    for gateway, translated in found["xdsIR"].items():
        for listener in translated.get("http") or ():
            name = listener["name"].rpartition("/")[2]
            _keep(answers, ("ClientTrafficPolicy", gateway, name), _only(listener, {"timeout": ("http",)}))
            for route in listener.get("routes") or ():
                _, namespace, route_name, _, number = route["name"].split("/")[:5]
                place = (gateway, name, f"{namespace}/{route_name}", number)
                traffic, security = route.get("traffic") or {}, route.get("security") or {}
                fields = _by_type(_only(traffic, {"timeout": ("http", "tcp"), "httpUpgrade": ()}))
                _keep(answers, ("BackendTrafficPolicy", *place), fields)
                cors = _only(security.get("cors") or {}, dict.fromkeys(("maxAge", "allowMethods", "allowHeaders"), ()))
                _keep(answers, ("SecurityPolicy", *place), cors)
                luas = [one["Code"] for one in (route.get("envoyExtensions") or {}).get("luas") or ()]
                _keep(answers, ("EnvoyExtensionPolicy", *place), {"lua": luas} if luas else {})
    for kind in ("backendTrafficPolicies", "securityPolicies", "envoyExtensionPolicies", "clientTrafficPolicies"):
        for policy in found.get(kind) or found.get("resources", {}).get(kind) or ():
            _judge(answers, policy)
    return answers


def _keep(answers: Answers, place: Place, fields: Fields) -> None:
    if fields:
        answers.effective[place] = fields


def _only(fields: Fields, wanted: dict[str, tuple[str, ...]]) -> Fields:
    """These fields, and of each only its named fields."""
    found = {}
    for name, below in wanted.items():
        value = fields.get(name)
        if value and below:
            value = {part: value[part] for part in below if value.get(part)}
        if value:
            found[name] = value
    return found


def _judge(answers: Answers, policy: Object) -> None:
    """Note what a policy's status says: of all ancestors together."""
    key = (policy["kind"], f"{policy['metadata']['namespace']}/{policy['metadata']['name']}")
    conditions = [
        condition for entry in policy.get("status", {}).get("ancestors") or () for condition in entry["conditions"]
    ]
    accepted = {(one["status"], one["reason"]) for one in conditions if one["type"] == "Accepted"}
    if policy["kind"] == "ClientTrafficPolicy" and ("False", "Invalid") in accepted:
        answers.shared |= {
            (policy["kind"], f"{policy['metadata']['namespace']}/{ref['name']}", ref.get("sectionName", ""))
            for ref in policy["spec"]["targetRefs"]
        }
    answers.verdicts[key] = " ".join(sorted(reason for _, reason in accepted)) or "None"
    if reasons := {one["reason"] for one in conditions if one["type"] == "Programmed"}:
        answers.displaced[key] = None if reasons == {"PartiallyProgrammed"} else reasons == {"Overridden"}
        if reasons == {"NoScope"}:
            answers.verdicts[key] = "NoScope"
    else:
        answers.displaced[key] = any(one["type"] in {"Overridden", "Merged"} for one in conditions)


def _answered(bridge: Run, file: Path) -> Answers:
    """The bridge's answers about the same manifests."""
    answers = Answers()
    for entry in _requested(bridge, "effective", "-A", "--manifests", str(file)):
        kind = entry["policyKind"].rpartition("/")[2]
        if not entry["policyKind"].startswith(ENVOY):
            continue
        for path in entry["paths"]:
            place = _place(kind, path["path"])
            if place is not None:
                _keep(answers, place, _as_translated(kind, path["spec"]))
    for policy in _requested(bridge, "status", "-A", "--manifests", str(file)):
        if policy["apiVersion"].startswith(ENVOY):
            _judge(answers, policy)
    return answers


def _requested(bridge: Run, *arguments: str) -> list[Any]:
    answer = bridge(*arguments, "-o", "json")
    assert answer.returncode == 0, answer.stderr
    found: list[Any] = json.loads(answer.stdout)
    return found


def _place(kind: str, path: list[str]) -> Place | None:
    listeners = [node for node in path if "/Gateway/" in node and "#" in node]
    if not listeners:
        return None
    holder, _, listener = listeners[0].partition("#")
    gateway = "/".join(holder.split("/")[2:])
    if kind == "ClientTrafficPolicy":
        return (kind, gateway, listener)
    route, _, rule = path[-1].partition("#")
    return (kind, gateway, listener, "/".join(route.split("/")[2:]), str("ab".index(rule)))


def _as_translated(kind: str, spec: Fields) -> Fields:
    """An effective spec as the translator has it."""
    match kind:
        case "SecurityPolicy":
            return {name: value for name, value in spec.get("cors", {}).items() if name != "allowOrigins"}
        case "EnvoyExtensionPolicy":
            return {"lua": [one["inline"] for one in spec.get("lua", ())]}
    return _by_type({name: value for name, value in spec.items() if name in {"timeout", "httpUpgrade"}})


def _by_type(fields: Fields) -> Fields:
    """The upgrades in the order of their types.

    They have no order for Envoy. Of two merged lists, the bridge has the items of higher precedence first (F8),
    Kubernetes' strategic merge keeps the items that both have at their places.
    """
    if "httpUpgrade" not in fields:
        return fields
    return {**fields, "httpUpgrade": sorted(fields["httpUpgrade"], key=lambda one: str(one["type"]))}
