"""Reading of YAML in a child process: the same documents, and an end of what costs too much."""

import asyncio
import os
from pathlib import Path

import pytest

from bridge.sources.bounded_reading import TooCostlyError, is_cheap, read_manifests, read_texts
from bridge.sources.yaml import BrokenDocument, read_documents
from tests.eventually import eventually

BOMB = "\n".join(["a0: &a0 [1,1,1,1]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))])
COSTLY = "- []\n" * 300_000


def children() -> list[str]:
    return [
        child for file in Path(f"/proc/{os.getpid()}/task").glob("*/children") for child in file.read_text().split()
    ]


async def test_child_reads_the_same_documents() -> None:
    texts = [
        "a: &a {b: [1, -0.5, 1e300, null]}\nc: *a\n---\nitems: [{x: é}]\n",
        "a: [",
        "",
        BOMB,
        "k: !!int {!!value x: 1}",
    ]
    assert await read_texts(texts) == [list(read_documents(text)) for text in texts]


async def test_surrogate_is_a_problem_of_its_document() -> None:
    [[broken, whole]] = await read_texts(['{"a": "\\ud800"}{"b": 1}'])
    assert isinstance(broken, BrokenDocument)
    assert "not valid Unicode" in broken.reason
    assert not isinstance(whole, BrokenDocument)


@pytest.mark.parametrize(("bound", "most"), [("MOST_MEMORY", 128 << 20), ("MOST_SECONDS", 1), ("_PATIENCE", 0.5)])
async def test_costly_text_is_refused_and_leaves_no_process(
    bound: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"bridge.sources.bounded_reading.{bound}", most)
    before = children()
    with pytest.raises(TooCostlyError, match="make it smaller"):
        await read_texts([COSTLY])
    assert children() == before


async def test_process_ends_when_its_reader_is_cancelled() -> None:
    before = children()
    reading = asyncio.create_task(read_texts([COSTLY]))
    await eventually(lambda: children() != before)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert children() == before


async def test_manifests_have_defaults_and_the_errors_of_the_others() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: 80, targetPort: web}]}\n"
    objects, troubles, doubts = await read_manifests(f"{service}---\nkind: Broken\n".encode(), [])
    assert doubts == []
    assert [(one["kind"], one["metadata"]["namespace"], one["spec"]["type"]) for one in objects] == [
        ("Service", "default", "ClusterIP")
    ]
    assert [one.message for one in troubles] == ["document 2: apiVersion is missing"]


async def test_manifests_report_objects_that_an_api_server_refuses_and_fields_that_it_drops() -> None:
    spec = "{hostnames: a, rule: 1}"
    route = f"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r}}\nspec: {spec}"
    _, _, doubts = await read_manifests(route.encode(), [])
    assert [(key.name, doubt.reason) for key, doubt, _ in doubts] == [("r", "InvalidValue"), ("r", "UnknownField")]


@pytest.mark.parametrize(
    ("texts", "cheap"),
    [
        (["a: 1", "b: '*.example.com'\nc: 2*3"], True),
        (["a: b\n" * 500] * 2, False),
        (["a: &a 1\nb: *a"], False),
        (["&a [*a]"], False),
        (["? *a\n: b"], False),
    ],
)
def test_small_texts_without_aliases_are_cheap(texts: list[str], cheap: bool) -> None:
    assert is_cheap(texts) is cheap
