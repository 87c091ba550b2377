"""What a cluster's store does with notices; what it reads and writes is tested against a real API server."""

from __future__ import annotations

from unittest.mock import patch

from bridge.model.changes import Notice
from bridge.settings.model import Settings
from bridge.sidecar.store import ClusterStore
from bridge.sources.cluster import ClusterSource
from tests.unit.sources.test_cluster import Client


def test_types_are_discovered_again_after_a_sync_which_may_have_changed_a_crd() -> None:
    with patch.object(ClusterSource, "rediscover") as discovered:
        store = ClusterStore(Client(), Settings())
        store.note(Notice(refilling=True))
        assert discovered.call_count == 0
        store.note(Notice(refilled=True))
        assert discovered.call_count == 2  # the objects', and the policy authors'
