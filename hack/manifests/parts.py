"""Files that the chart takes from the bridge, so that each fact has one source; the templates combine them."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from bridge.admission.webhook_configuration import (
    CONDITIONS,
    HIERARCHY_SUBRESOURCES,
    KINDS,
    METADATA_RESOURCES,
    MODULE_CONDITIONS,
    MODULES,
    POD_SUBRESOURCES,
    POLICIES_ANYWHERE,
    SYSTEM_NAMESPACES,
    VALIDATING,
    Target,
    of_the_hierarchy,
    webhook_configuration,
)
from bridge.cli.kind_source import KindSource
from bridge.cli.output import to_yaml
from bridge.cli.rbac import read_needs
from bridge.files import rego_root
from bridge.model.types import Access
from bridge.opa.bundle import BundleTrust, opa_config
from bridge.opa.credentials import TOKEN
from bridge.opa.shipped import preset_kinds
from bridge.settings.model import settings_schema
from bridge.sidecar.permissions import rules
from hack.tools import find

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
SHARED = {"crds": "*.yaml", "alerts": "*.rules.yaml", "grafana": "*.json"}  # folders of deploy/, copied as they are
# Settings that follow from the chart's other values, or from what is in the Pod: said there, and nowhere else.
OWN_SETTINGS = (
    *("manifests", "kubeconfig", "context", "listen", "probe_listen", "shutdown_grace", "shutdown_drain"),
    *("opa_url", "opa_token_file", "opa_ca_file", "opa_cert_file", "opa_key_file"),
    *("opa_readers", "opa_port", "opa_socket", "opa_listen", "bundle_credentials"),
    *("policy_namespaces", "lease_namespace", "lease_name", "read_only"),
    *("webhook_listen", "webhook_cert_file", "webhook_key_file", "webhook_decision"),
    *("webhook_deadline", "webhook_configuration", "webhook_service", "webhook_url"),
    *("webhook_client_ca_file", "webhook_client_names"),
    *("publish_listen", "publish_cert_file", "publish_key_file", "publish_credentials", "publish_tokens"),
)
CREDENTIALS = "/run/policy-bridge-credentials/bundle"  # as the templates have it
_HEADER = "# Made by `make manifests` of what {source} prints; the templates fill in the names.\n"
_RELEASE, _POLICIES = "release", "policies"


def copied() -> dict[str, str]:
    """Return the files that the chart copies, by path below the chart."""
    return {
        f"files/{folder}/{file.name}": file.read_text(encoding="utf-8")
        for folder, pattern in SHARED.items()
        for file in sorted((ROOT / "deploy" / folder).glob(pattern))
    }


def rbac_part(scratch: Path) -> str:
    """Return the permissions in parts: those that are always needed, those of the webhook, and those of an observer."""
    plain = _needs(scratch)
    served = _needs(scratch, webhook_listen="0.0.0.0:1")

    def of(access: set[Access], namespace: str) -> list[dict[str, Any]]:
        return rules(access).get(namespace, [])

    def parts(access: set[Access]) -> dict[str, Any]:
        return {
            "cluster": {"always": of(access, ""), "webhook": of(served - plain, "")},
            "release": of(access, _RELEASE),
            "policies": of(access, _POLICIES),
        }

    found = parts(plain) | {"observe": parts(_needs(scratch, read_only=True))}
    del found["observe"]["cluster"]["webhook"]
    return _HEADER.format(source="`pbctl admin rbac`") + to_yaml(found)


def _needs(scratch: Path, **more: str | bool) -> set[Access]:
    config = scratch / "bridge.yaml"
    names = {"lease_name": "@NAME@", "webhook_configuration": "@NAME@"}
    places = {"lease_namespace": _RELEASE, "policy_namespaces": [_POLICIES]}
    config.write_text(yaml.safe_dump({**names, **places, **more}))
    return set(read_needs(config, KindSource())[0])


def _rules_of(name: str, target: Target, **more: Any) -> list[Any]:
    """Return the rules of the validating webhook whose name begins with `name`."""
    found = webhook_configuration(VALIDATING, "@NAME@", target, exempt=[], timeout=10, **more)["webhooks"]
    return next(list(one["rules"]) for one in found if one["name"].startswith(name))


def webhook_part() -> str:
    """Return the webhooks by kind of their configuration, with placeholders for values of the release."""
    target = Target(service="@NAMESPACE@/@NAME@")
    webhooks = {
        which.kind: webhook_configuration(which, "@NAME@", target, exempt=[], timeout=10)["webhooks"][0]
        for which in KINDS
    }
    for webhook in webhooks.values():
        del webhook["matchConditions"]
    return _HEADER.format(source="`pbctl admin webhook-config`") + to_yaml(
        {
            "webhooks": webhooks,
            "podSubresources": list(POD_SUBRESOURCES),
            "metadataResources": {of: list(names) for of, names in METADATA_RESOURCES.items()},
            "hierarchySubresources": list(HIERARCHY_SUBRESOURCES),
            "ofTheHierarchy": _condition(of_the_hierarchy(preset_kinds(rego_root()))),
            "requests": _rules_of("requests.", target, every_operation=True),
            "modules": _rules_of(MODULES, target, policy_namespaces=["@POLICIES@"]),
            "moduleConditions": [_condition(one) for one in MODULE_CONDITIONS],
            "exempt": list(SYSTEM_NAMESPACES),
            "conditions": {
                "always": [_condition(one) for one in CONDITIONS],
                "policiesAnywhere": [_condition(POLICIES_ANYWHERE)],
            },
        }
    )


def _condition(condition: tuple[str, str]) -> dict[str, str]:
    return {"name": condition[0], "expression": condition[1]}


def opa_part(*, authorization: bool) -> str:
    """Return OPA's configuration in the Pod, with credentials from the init container."""
    trust = BundleTrust(token_path=f"{CREDENTIALS}/{TOKEN}")
    return to_yaml(opa_config("http://127.0.0.1:8282", trust, decision_ids=True, authorization=authorization))


def schema(before: str) -> str:
    """Return values.schema.json with the schema of the settings, which comes from their types."""
    found = msgspec.json.decode(before)
    definitions = settings_schema()
    for definition in definitions.values():
        definition.pop("description", None)  # of Python's classes; those of the settings stay
        definition.pop("title", None)
    for name in OWN_SETTINGS:
        del definitions["Settings"]["properties"][name]
    found["$defs"] = definitions
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"


_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]+):(?: (?P<value>.*))?$")


def values_table(values: str) -> str:
    """Return a Markdown table of the described values (`# -- …`), with their defaults."""
    rows = ["| value | default | meaning |", "|---|---|---|"]
    path: list[str] = []
    comment: list[str] = []
    for line in values.splitlines():
        text = line.strip()
        if text.startswith("# -- "):
            comment = [text.removeprefix("# -- ")]
        elif text.startswith("# ") and comment:
            comment.append(text.removeprefix("# "))
        elif match := _KEY.match(line):
            path = [*path[: len(match["indent"]) // 2], match["key"]]
            if comment:
                default = yaml.safe_load(values)
                for key in path:
                    default = default[key]
                default_text = "`" + msgspec.json.encode(default).decode() + "`"
                rows.append(f"| `{'.'.join(path)}` | {default_text} | {' '.join(comment)} |")
            comment = []
    return "\n".join(rows) + "\n"


Objects = list[dict[str, Any]]


class HelmError(Exception):
    """Helm failed; the text is its message."""


def helm(*arguments: str | Path, home: Path) -> str:
    """Run helm and return its output; helm may write below `home`. Raises HelmError."""
    found = find("helm")
    if found is None:
        raise HelmError("helm is missing: `make setup-test-long` gets it")
    folders = {f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    answer = subprocess.run(
        [found.path, *arguments],
        env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"} | folders,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if answer.returncode != 0:
        raise HelmError(answer.stderr)
    return answer.stdout


def template(
    chart: Path,
    home: Path,
    values: Mapping[str, Any] | None = None,
    *,
    release: str = "policy-bridge",
    namespace: str = "policy-bridge",
    api_versions: str = "",
) -> Objects:
    """Return the objects of a release for a cluster that also serves `api_versions`. Raises HelmError."""
    home.mkdir(exist_ok=True)
    file = home / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values or {})))
    served = ["--api-versions", api_versions] if api_versions else []
    text = helm("template", release, chart, "--namespace", namespace, "--values", file, *served, home=home)
    return [one for one in yaml.safe_load_all(text) if one]


def one(objects: Objects, kind: str, name: str = "policy-bridge", namespace: str | None = None) -> dict[str, Any]:
    """Return the object of this kind and name."""
    (found,) = [
        obj
        for obj in objects
        if obj["kind"] == kind
        and obj["metadata"]["name"] == name
        and namespace in {None, obj["metadata"].get("namespace")}
    ]
    return found
