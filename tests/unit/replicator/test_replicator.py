"""Which notices a listener of the replicator gets; what it writes is tested against a real OPA."""

from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.model.types import CRD
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from tests.integration.scripted import ScriptedSource

OTHER = Notice((parse_key("core/Service/shop/a"),))
OF_CRD = Notice((parse_key(f"{CRD}/-/things.example.com"),))
SYNCED = Notice(refilled=True)


def test_listener_of_a_type_gets_its_changes_and_syncs_only() -> None:
    replicator = Replicator(ScriptedSource([]), Opa("http://localhost"), ())
    received: list[Notice] = []
    replicator.listen(received.append, CRD)
    for notice in (OTHER, Notice(refilling=True), OF_CRD, SYNCED):
        replicator._notify(notice)
    assert received == [OF_CRD, SYNCED]
