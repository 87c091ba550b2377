"""Submitted Rego reaches neither the network nor files: not in a check, not in a test, and not in OPA."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.integration.loading import Bench, loading

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def bench(opa_path: Path) -> AsyncIterator[Bench]:
    async with loading(opa_path) as found:
        yield found


@asynccontextmanager
async def listener() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Yield the URL of a server that answers every request with a JSON schema, and the requests."""
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", requests


CALLS = {
    "a reference in the schema": 'x := json.verify_schema({"$ref": "URL"})',
    "a nested reference": 'x := json.match_schema({}, {"allOf": [{"$ref": "URL"}]})',
    "a computed reference": 'x := json.verify_schema({"$ref": concat("", ["URL", "secret"])})',
    "a schema in a variable": 'x := y if {\n\ts := {"$ref": "URL"}\n\ty := json.match_schema({}, s)\n}',
    "a schema in a string": 'x := json.verify_schema("{\\"$ref\\": \\"URL\\"}")',
    "a computed schema": 'x := json.verify_schema(object.union({"$ref": "URL"}, {}))',
    "a name with escapes": 'x := json["verify\\u005fschema"]({"$ref": "URL"})',
    "a statement with an output": 'x if {\n\tjson.match_schema({}, {"$ref": "URL"}, y)\n\ty[0]\n}',
    "a replacement of a function": 'x := y if {\n\ty := count({"$ref": "URL"}) with count as json.verify_schema\n}',
    "a call in a comprehension": 'x := [y | some u in ["URL"]; y := json.verify_schema({"$ref": u})]',
}


@pytest.mark.parametrize("place", ["module", "test"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_schema_that_is_no_constant_or_has_a_reference_is_refused(opa_path: Path, call: str, place: str) -> None:
    async with loading(opa_path) as bench, listener() as (url, requests):
        rule = call.replace("URL", url)
        if place == "module":
            bench.put("a", f"package team.a\n\n{rule}\n")
        else:
            bench.put("a", "package team.a\n\nz := 1\n", tests=f"package a_test\n\n{rule}\n\ntest_x if x\n")
        await bench.until(lambda reported: "a" in reported)
        if bench.verdicts["a"].accepted:  # then OPA evaluates it
            await bench.opa.get("team/a/x")
        file, line, code, message = await bench.refused("a")
        assert requests == []
        assert (file, code) == ("m0.rego" if place == "module" else "m_test.rego", "schema_reference")
        assert line >= 3
        assert "write the schema as an object in the call, without $ref" in message


@pytest.mark.parametrize("place", ["module", "test"])
async def test_schema_annotation_with_a_reference_is_refused_and_not_fetched(bench: Bench, place: str) -> None:
    async with listener() as (url, requests):
        annotated = f'# METADATA\n# schemas:\n# - input: {{"items": {{"$ref": "{url}"}}}}\n'
        if place == "module":
            bench.put("a", f"package team.a\n\n{annotated}x := input.y\n")
        else:
            bench.put("a", "package team.a\n\nz := 1\n", tests=f"package a_test\n\n{annotated}test_x if not input.y\n")
        _, line, code, message = await bench.refused("a")
        assert (line, code) == (6, "schema_reference")  # the rule below the annotation
        assert "write the schema without $ref" in message
        assert requests == []


async def test_report_does_not_show_whether_a_file_exists(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("{}")
    reports = []
    for version, name in enumerate(("there", "missing"), start=1):
        reference = f'{{"$ref": "file://{tmp_path / name}"}}'
        bench.put("call", f"package team.a\n\nx := json.verify_schema({reference})\n", version=str(version))
        annotated = f"package team.b\n\n# METADATA\n# schemas:\n# - input: {reference}\nx := input.y\n"
        bench.put("annotation", annotated, version=str(version))
        reports.append([await bench.refused(one, str(version)) for one in ("call", "annotation")])
    assert reports[0] == reports[1]


async def test_constant_schemas_without_references_are_allowed(bench: Bench) -> None:
    call = 'json.match_schema(input, {"type": "object", "required": ["a"]})[0]'
    annotated = '# METADATA\n# schemas:\n# - input: {"type": "object", "properties": {"a": {"type": "string"}}}\n'
    tests = f"package a_test\n\n{annotated}test_x if {{\n\tdata.team.a.x with input as {{}}\n\tnot input.a\n}}\n"
    bench.put("a", f"package team.a\n\n{annotated}x := false if {call}\n\nelse := true\n", tests=tests)
    await bench.until_active("a")
    assert await bench.opa.get("team/a/x") is not None


async def test_threat_model_lists_every_builtin_of_opa(opa_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        str(opa_path), "capabilities", "--current", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    builtins = {one["name"] for one in json.loads(output)["builtins"]}
    page = (ROOT / "docs/auditors/threat-model.md").read_text()
    table = page.split("\n## Functions that Rego may call\n")[1].split("\n## ")[0]
    listed = re.findall(r"`([a-z0-9_.]+)`", "\n".join(row.split("|")[1] for row in table.splitlines() if "|" in row))
    assert sorted(listed) == sorted(builtins)
