"""Reviews of objects at the webhook of a bridge that serves a folder."""

import json
import ssl
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.serving import bridge_starts
from tests.eventually import eventually_blocking
from tests.ports import free_address

PATIENT = 30  # seconds, for tests of what is decided, also on a loaded machine
Review = Callable[[str, dict[str, Any], dict[str, Any] | None], dict[str, Any]]


@contextmanager
def webhook_of(
    bridge_path: Path, environment: dict[str, str], folder: Path, objects: list[dict[str, Any]], timeout: int = PATIENT
) -> Iterator[Review]:
    """A function that sends a review of an object to a bridge's webhook, and returns the response."""
    manifests = folder / "manifests"
    manifests.mkdir(parents=True)
    (manifests / "all.json").write_text("\n---\n".join(map(json.dumps, objects)))
    address = free_address()
    options = ("--manifests", manifests, "--listen", "127.0.0.1:0", "--webhook-listen", address)
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE

    def review(operation: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
        group, _, version = obj["apiVersion"].rpartition("/")
        deleted = operation == "DELETE"
        request = {
            "uid": str(uuid.uuid4()),
            "kind": {"group": group, "version": version, "kind": obj["kind"]},
            "operation": operation,
            "name": obj["metadata"]["name"],
            "namespace": obj["metadata"].get("namespace", ""),
            "object": None if deleted else obj,
            "oldObject": obj if deleted else old,
        }
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        url = f"https://{address}/validation?timeout={timeout}s"
        asked = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60, context=unverified) as answer:  # noqa: S310
            response: dict[str, Any] = json.loads(answer.read())["response"]
        return response

    def is_ready() -> bool:
        try:
            answer = review("CREATE", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        except OSError:
            return False
        return bool(answer["auditAnnotations"]["outcome"] == "allowed")

    variables = {"BRIDGE_WEBHOOK_URL": f"https://{address}/admission", "BRIDGE_WEBHOOK_DECISION": ""}
    variables["BRIDGE_WEBHOOK_DEADLINE"] = str(timeout)
    with bridge_starts(bridge_path, environment, folder / "log", *options, **variables):
        eventually_blocking(is_ready, bool, pause=0.3)
        yield review


def message_of(response: dict[str, Any]) -> str:
    return str(response.get("status", {}).get("message", ""))
