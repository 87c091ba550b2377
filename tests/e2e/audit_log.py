"""Who wrote what, and who held the Lease, as the API server's audit log has it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hack.tools import find
from tests.controlplane.plane import ControlPlane

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create, update, patch, delete]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
  verbs: [get]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: None
  resources: [{group: events.k8s.io}, {group: authorization.k8s.io}]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
"""


@contextmanager
def audited_plane(folder: Path, users: Sequence[str], crds: Path, policy: str = POLICY) -> Iterator[ControlPlane]:
    """A control plane with some users and CRDs that logs requests into `folder/audit.log`."""
    (folder / "audit.yaml").write_text(policy)
    flags = (f"--audit-policy-file={folder / 'audit.yaml'}", f"--audit-log-path={folder / 'audit.log'}")
    etcd, api_server = find("etcd"), find("kube-apiserver")
    assert etcd
    assert api_server
    plane = ControlPlane(folder / "plane", etcd=etcd.path, kube_apiserver=api_server.path, flags=flags, users=users)
    try:
        plane.start()
        plane.api.apply_crds(crds)
        yield plane
    finally:
        plane.stop()


@dataclass(frozen=True)
class Write:
    """One request that changes something: by whom, of what (`plural`, `plural/subresource`), when it came, its answer.

    Times are seconds since the epoch. `holder` is who a write of the Lease names, `body` what the policy logs of it.
    """

    user: str
    resource: str
    came: float
    answered: float
    status: int
    holder: str | None
    namespace: str
    name: str
    body: Any


def writes(log: Path, users: set[str]) -> list[Write]:
    """The writes of some users, by when they came."""
    return sorted(_writes(log, users), key=lambda write: write.came)


def lease_reads(log: Path, user: str, since: float) -> int:
    """How often a user read the Lease after a moment until it wrote the Lease."""
    written = min(one.came for one in writes(log, {user}) if one.resource == "leases" and one.came > since)
    return sum(since < _seconds(one["requestReceivedTimestamp"]) < written for one in _events(log, {user}, reads=True))


def without_the_lease(log: Path, users: set[str]) -> tuple[list[Write], list[Write]]:
    """All writes but those of the Lease itself; and of these those that came while another user held it.

    A client holds it from the response to the write with its name until the write of another name.
    """
    found = writes(log, users)
    terms = [write for write in found if write.resource == "leases" and write.status < 300]
    others = [write for write in found if write.resource != "leases"]
    return others, [write for write in others if not _held_by(write, terms)]


def _held_by(write: Write, terms: list[Write]) -> bool:
    before = [term for term in terms if term.answered <= write.came]
    return bool(before) and before[-1].user == write.user and before[-1].holder != ""


def _writes(log: Path, users: set[str]) -> Iterator[Write]:
    for event in _events(log, users):
        about = event["objectRef"]
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        holder = None
        if resource == "leases":
            holder = event["requestObject"]["spec"].get("holderIdentity", "")
        yield Write(
            event["user"]["username"],
            resource,
            _seconds(event["requestReceivedTimestamp"]),
            _seconds(event["stageTimestamp"]),
            event["responseStatus"]["code"],
            holder,
            about.get("namespace", "-"),
            about.get("name", ""),
            event.get("requestObject"),
        )


def _events(log: Path, users: set[str], *, reads: bool = False) -> Iterator[dict[str, Any]]:
    for line in log.read_text().splitlines():
        event: dict[str, Any] = json.loads(line)
        is_read = event["verb"] == "get"
        if event["user"]["username"] in users and event["stage"] == "ResponseComplete" and is_read == reads:
            yield event


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
