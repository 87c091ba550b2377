"""Several queries of OPA at once."""

from collections.abc import Mapping
from typing import Any

from bridge.opa.client import Opa


async def results_of(opa: Opa, *names: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of queries with one input, by name. To read its `changes` takes longer than most answers.

    Raises AssertionError if a query returns an error.
    """
    (found,) = await opa.evaluate("; ".join(f"{name} := data.bridge.v1.{name}" for name in names), asked)
    assert not any(isinstance(found[name], dict) and "error" in found[name] for name in names), found
    return found
