"""One query without a server: `opa eval` with the shipped rules that the query reaches. No admin's Rego is loaded."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridge import processes
from bridge.files import rego_root, write_whole
from bridge.opa.errors import OpaError
from bridge.opa.executable import OPA, ToolError, cache_root, search
from bridge.opa.shipped import shipped_bundle

_LIMIT = 2.0  # seconds


async def evaluate(query: str, query_input: Mapping[str, Any], *, limit: float = _LIMIT) -> Any:
    """Return the result of a query of the contract, within `limit` seconds.

    Raises OpaError, also if this machine has no `opa` yet.
    """
    found = search(OPA).found
    if found is None:
        raise OpaError("no opa on this machine: `pbctl doctor` installs it")
    try:
        async with asyncio.timeout(limit):
            output = await _run(found.path, query, msgspec.json.encode(query_input))
    except TimeoutError as error:
        raise OpaError(f"opa eval of {query} took longer than {limit:g} s") from error
    except (OSError, ToolError) as error:
        raise OpaError(f"opa eval of {query}: {error}") from error
    try:
        return msgspec.json.decode(output)["result"][0]["expressions"][0]["value"]
    except (msgspec.DecodeError, LookupError) as error:
        raise OpaError(f"opa eval of {query} has no result: {output[:200]!r}") from error


async def _run(opa: str | Path, query: str, text: bytes) -> bytes:
    """Return what `opa eval` prints; it is killed if this is cancelled."""
    options = ("--format", "json", "--stdin-input", "--bundle", str(_archive(query)))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        opa, "eval", *options, f"data.bridge.v1.{query}", stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        output, _ = await process.communicate(text)
    finally:
        await processes.end(process)
    return output


def _archive(query: str) -> Path:
    """Return the file in the cache with the rules that a query reaches, named by their revision."""
    bundle = shipped_bundle(rego_root(), queries=[query])
    file = cache_root() / "rules" / f"{bundle.revision}.tar.gz"
    if not file.exists():
        write_whole(file, bundle.content)
    return file
