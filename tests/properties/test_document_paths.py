"""Names from objects in the paths of OPA's documents: each name addresses its own document."""

import asyncio
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.model.keys import pointer
from bridge.opa.bundle import build_bundle
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa

# Escapes of URLs and of JSON Pointers, whole, broken and nested; paths that servers clean; quotes and signs.
PIECES = st.sampled_from(
    [*"%/~. \"'\\?#&+;[]{}\0\n\u2028-0aü日\U0001f600", "%25", "%2F", "%2f", "%zz", "%7E1", "~0", "~1", "~%31", ".."]
)
NAMES = st.lists(PIECES, min_size=1, max_size=6).map("".join)


def test_any_name_is_added_replaced_read_and_removed_as_itself(opa_path: Path) -> None:
    with asyncio.Runner() as runner:
        managed = ManagedOpa(opa_path, {}, bundle=build_bundle({"x.rego": "package x\n"}, {}, ["x"]))
        url = runner.run(managed.start())

        @settings(max_examples=200, deadline=None)
        @given(NAMES, NAMES)
        @example("%", "%25")
        @example("a%20b", "a b")
        @example(".", "..")
        @example("/", "//")
        @example("~1", "/")
        @example("-0", "007")
        @example(".0", "1.")
        @example("x" * 100_000, "%" * 1_000)
        def check(name: str, other: str) -> None:
            runner.run(_check(url, name, other))

        try:
            check()
        finally:
            runner.run(managed.stop())


async def _check(url: str, name: str, other: str) -> None:
    async with Opa(url) as opa:
        await opa.put("stored", {"kept": 1})
        place = pointer("stored", name)
        await opa.patch([{"op": "add", "path": place, "value": {}}])
        await opa.patch([{"op": "add", "path": pointer("stored", name, other), "value": {"number": 1}}])
        assert await opa.get("stored") == {"kept": 1, name: {other: {"number": 1}}}
        await opa.patch([{"op": "replace", "path": pointer("stored", name, other, "number"), "value": 2}])
        assert await opa.get(place) == {other: {"number": 2}}
        await opa.patch([{"op": "remove", "path": place}])
        assert await opa.get("stored") == {"kept": 1}
        assert await opa.get(place) is None
