"""A webhook over TLS without an API server, and a client of it."""

import asyncio
import io
import json
import operator
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import trustme

from bridge.admission.admission import Policies
from bridge.http.bundles import Tokens
from bridge.model.changes import Object
from bridge.model.observability import Record, record_nothing
from bridge.queries.judged_change import ChangeJudge
from bridge.settings.loading import load_settings
from bridge.sidecar.managed_opa import OpaAccess
from bridge.sidecar.webhook import Webhook
from tests.integration.webhook import BUNDLE, Facts, StatedPolicies
from tests.ports import free_port


@dataclass(frozen=True, slots=True)
class Served:
    """A webhook at `port`; `session` has a client certificate of the authority in the file `ca.crt`."""

    port: int
    context: ssl.SSLContext
    session: aiohttp.ClientSession
    webhook: Webhook

    async def __call__(self, labels: dict[str, str], name: str = "a", **data: str) -> dict[str, Any]:
        """Review a ConfigMap: the response."""
        return await self.review(review_of(labels, name, **data))

    async def review(self, body: bytes) -> dict[str, Any]:
        """The response to an AdmissionReview."""
        url = f"https://127.0.0.1:{self.port}/admission?timeout=20s"
        headers = {"Content-Type": "application/json"}
        async with self.session.post(url, data=io.BytesIO(body), headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            response: dict[str, Any] = json.loads(await answer.text())["response"]
            return response


def review_of(labels: dict[str, str], name: str = "a", **data: str) -> bytes:
    """The AdmissionReview of a ConfigMap that is created."""
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return review_of_object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def review_of_object(obj: Object) -> bytes:
    """The AdmissionReview of a namespaced object that is created."""
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    namespace = obj["metadata"]["namespace"]
    request = {"uid": "7", "kind": kind, "operation": "CREATE", "namespace": namespace, "object": obj}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


@asynccontextmanager
async def serving(
    folder: Path,
    opa_url: str,
    record: Record = record_nothing,
    policies: Policies | None = None,
    **settings: Any,
) -> AsyncIterator[Served]:
    """A webhook that asks this OPA, which by default must have the shipped modules."""
    authority = trustme.CA()
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert(common_name="kube-apiserver")
    server.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    server.private_key_pem.write_to_path(folder / "tls.key")
    authority.cert_pem.write_to_path(folder / "ca.crt")
    port = free_port()
    files = {"webhook_cert_file": str(folder / "tls.crt"), "webhook_key_file": str(folder / "tls.key")}
    flags = {"webhook_listen": f"127.0.0.1:{port}", "webhook_deadline": 20.0, **files, **settings}

    configured = load_settings(None, flags, {})
    access = OpaAccess(opa_url, configured, Tokens(configured.opa_token_file, None, operator.attrgetter("content")))
    judge = ChangeJudge(configured).judge
    webhook = Webhook(configured, access, policies or StatedPolicies(Facts(), BUNDLE.revision), record, judge)
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    client.configure_cert(context)
    task = asyncio.create_task(webhook.run())
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
            async with asyncio.timeout(300):
                while webhook.readiness():
                    assert not task.done(), task
                    await asyncio.sleep(0.05)
            yield Served(port, context, session, webhook)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
