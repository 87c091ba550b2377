"""The parts of the index, as the query `links` fills them, and as the audit counts them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bridge.files import rego_root
from bridge.model.keys import key_of
from bridge.replicator.documents import INDEXES, links_of
from tests.properties.random_clusters import random_cluster

if TYPE_CHECKING:
    from pathlib import Path

_EXTENSION = """package bridge.extensions.hierarchy.acme

links contains [concat("#", ["gateway.networking.k8s.io/Gateway/infra/public", "http"]), key] if {
    key := sprintf("acme.io/Bucket/%s/%s", [input.object.metadata.namespace, input.object.metadata.name])
}

links contains ["acme.io/Edge/infra/north", "gateway.networking.k8s.io/Gateway/infra/public"]
"""


@pytest.mark.parametrize("extended", [False, True])
def test_audit_knows_every_part_that_links_have(opa_path: Path, tmp_path: Path, *, extended: bool) -> None:
    module = tmp_path / "acme.rego"
    module.write_text(_EXTENSION)
    objects = {key_of(obj): obj for seed in range(20) for obj in random_cluster(seed)}
    modules = ["--data", str(module)] if extended else []
    done = subprocess.run(
        [
            *(str(opa_path), "eval", "--format", "raw", "--stdin-input", "--ignore", "*.yaml"),
            *("--data", str(rego_root() / "bridge"), *modules, "data.bridge.v1.links"),
        ],
        input=json.dumps({"objects": list(objects.values())}),
        capture_output=True,
        text=True,
        check=True,
    )
    links = [links_of(found) for found in json.loads(done.stdout).values()]
    parts = {path[0] for one in links for path, _ in one.entries}
    assert parts <= set(INDEXES)  # each audit counts the entries of each part: another would end the bridge
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
