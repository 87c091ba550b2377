"""The entries that the bridge writes, compared with those that the Rego makes of changed objects."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bridge.replicator.documents import INDEXES
from bridge.replicator.index_layout import entries_of
from bridge.resources import rego_root
from tests.properties.random_clusters import random_cluster

if TYPE_CHECKING:
    from pathlib import Path

_EXTENSION = """package bridge.extensions.hierarchy.acme

links contains [concat("#", ["gateway.networking.k8s.io/Gateway/infra/public", "http"]), key] if {
    key := sprintf("acme.io/Bucket/%s/%s", [input.object.metadata.namespace, input.object.metadata.name])
}

links contains ["acme.io/Edge/infra/north", "gateway.networking.k8s.io/Gateway/infra/public"]
"""
_QUERY = """[[data.bridge.lib.keys.of(object), data.bridge.index.links(object), data.bridge.index.entries(object)] |
some object in input]"""


def _answers(opa_path: Path, objects: list[dict[str, Any]], module: Path | None) -> list[Any]:
    modules = ["--data", str(module)] if module else []
    done = subprocess.run(
        [
            *(str(opa_path), "eval", "--format", "raw", "--stdin-input", "--ignore", "*.yaml"),
            *("--data", str(rego_root() / "bridge"), *modules, _QUERY),
        ],
        input=json.dumps(objects),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[Any] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("extended", [False, True])
def test_stored_entries_are_those_of_the_same_object_as_a_change(
    opa_path: Path, tmp_path: Path, *, extended: bool
) -> None:
    module = tmp_path / "acme.rego"
    module.write_text(_EXTENSION)
    objects = [obj for seed in range(20) for obj in random_cluster(seed)]
    objects.append(_own_parent())
    answers = _answers(opa_path, objects, module if extended else None)
    assert len(answers) == len(objects)
    compared, parts = 0, set()
    for key, links, entries in answers:
        wanted = {tuple(entry["path"]): entry["value"] for entry in entries}
        assert dict(entries_of(key, links)) == wanted, key
        compared += len(wanted)
        parts |= {str(path[0]) for path in wanted}
    assert compared > len(objects)
    # Each audit counts the entries of each part: a part that it does not know would end the bridge.
    assert parts <= set(INDEXES)
    assert {"claims", "served", "selectors"} <= parts


def test_audit_counts_the_entries_of_every_part(opa_path: Path) -> None:
    index: dict[str, Any] = {part: {} for part in INDEXES}
    done = subprocess.run(
        [
            *(str(opa_path), "eval", "--format", "raw", "--stdin-input", "--ignore", "*.yaml"),
            *("--data", str(rego_root() / "bridge"), "data.bridge.v1.index_sizes with data.index as input"),
        ],
        input=json.dumps(index),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == dict.fromkeys(INDEXES, 0)


def _own_parent() -> dict[str, Any]:
    """A route that names itself as its parent and as its backend."""
    itself = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "loop"}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "loop", "namespace": "shop"},
        "spec": {"parentRefs": [itself], "rules": [{"backendRefs": [itself]}]},
    }
