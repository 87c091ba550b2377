"""OPA as a webhook without the bridge, for the same decision."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from hack.tools import ensure

PATIENCE = 60.0
# OPA evaluates `data.system.main` for a POST to its root, with the body as input.
MAIN = """package system

main := {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

response := {"uid": input.request.uid, "allowed": count(_errors) == 0, "patchType": "JSONPatch", "patch": _patch}

_errors := errors if errors := data.io.k8s.federation.admission.errors with input as input.request.object

_annotations := found if found := data.io.k8s.federation.admission.annotations with input as input.request.object

_patch := base64.encode(json.marshal([{"op": "add", "path": "/metadata/annotations", "value": _texts}]))

_texts := object.union(
	input.request.object.metadata.annotations,
	{name: json.marshal(value) | some name, value in _annotations},
)
"""


@asynccontextmanager
async def opa_webhook(folder: Path, policy: str, context: ssl.SSLContext) -> AsyncIterator[str]:
    """Start an OPA that answers AdmissionReviews by `policy`, with the folder's certificate; yield its URL."""
    executable = await asyncio.to_thread(ensure, "opa")
    modules = {"main.rego": MAIN, "policy.rego": policy}
    for name, text in modules.items():
        (folder / name).write_text(text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"https://127.0.0.1:{port}"
    process = await asyncio.create_subprocess_exec(
        *(str(executable.path), "run", "--server", "--addr", url, "--log-level", "error", "--skip-version-check"),
        *("--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key", *modules),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        await _answers(process, url, context)
        yield url
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _answers(process: asyncio.subprocess.Process, url: str, context: ssl.SSLContext) -> None:
    connector = aiohttp.TCPConnector(ssl=context)
    async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(connector=connector) as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{url}/health") as answer:
                    if answer.status == 200:
                        return
            if process.returncode is not None:
                raise RuntimeError("OPA as a webhook does not start: see its errors above")
            await asyncio.sleep(0.05)
