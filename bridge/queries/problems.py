"""The problems of an OPA's objects."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.model.keys import Key
from bridge.opa.client import Opa
from bridge.queries.applying import held_keys
from bridge.queries.asking import Entry, Selects, in_batches, selected


async def all_problems(
    opa: Opa,
    keys: Sequence[Key] | None = None,
    namespace: str | None = None,
    selects: Selects | None = None,
) -> list[Entry]:
    """Return the result of the query `problems` for objects, in batches: `{subject, about, reason, message}`.

    Without `keys` for every object, or for those of one `namespace`. `selects` decides by an object's labels.
    """
    if keys is None:
        keys = [key for key in await held_keys(opa) if namespace in {None, key.namespace}]
    texts = list(dict.fromkeys(str(key.object) for key in keys))
    found = await in_batches(opa, "problems", "objects", texts)
    found = await selected(opa, found, "subject", selects)
    return sorted(found, key=lambda problem: (problem["subject"], problem["reason"], problem["about"]))
