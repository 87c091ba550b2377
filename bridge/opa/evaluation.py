"""One query without a server: `opa eval` with the shipped rules that the query reaches. No admin's Rego is loaded."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridge.files import rego_root
from bridge.opa.bundle import archive_of
from bridge.opa.errors import OpaError
from bridge.opa.executable import OPA, search
from bridge.opa.shipped import shipped_bundle


async def evaluate(query: str, query_input: Mapping[str, Any]) -> Any:
    """Return the result of a query of the contract. Raises OpaError, also if this machine has no `opa` yet."""
    found = search(OPA).found
    if found is None:
        raise OpaError("no opa on this machine: `pbctl admin doctor` gets it")
    bundle = shipped_bundle(rego_root(), queries=[query])
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as file:
        Path(file.name).write_bytes(archive_of(bundle.files))
        options = ("--format", "json", "--stdin-input", "--bundle", file.name)
        process = await asyncio.create_subprocess_exec(
            found.path,
            "eval",
            *options,
            f"data.bridge.v1.{query}",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        output, _ = await process.communicate(msgspec.json.encode(query_input))
    try:
        return msgspec.json.decode(output)["result"][0]["expressions"][0]["value"]
    except (msgspec.DecodeError, LookupError) as error:
        raise OpaError(f"opa eval of {query} has no result: {output[:200]!r}") from error
