"""The problems of the objects that an OPA holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bridge.answers.applying import held_keys
from bridge.answers.asking import Entry, in_batches, objects
from bridge.model.keys import Key, parse_key
from bridge.opa.client import Opa


async def all_problems(
    opa: Opa,
    keys: Sequence[Key] | None = None,
    namespace: str | None = None,
    selects: Callable[[Mapping[str, str]], bool] | None = None,
) -> list[Entry]:
    """The answer of the query `problems` for objects, in batches: `{subject, about, reason, message}`.

    Without `keys` for every object, or for those of one `namespace`. `selects` decides by an object's labels.
    """
    if keys is None:
        keys = [key for key in await held_keys(opa) if namespace in {None, key.namespace}]
    texts = list(dict.fromkeys(str(key.object) for key in keys))
    found = await in_batches(opa, "problems", "objects", texts)
    if selects is not None:
        held = await objects(opa, {parse_key(problem["subject"]) for problem in found})
        labels = {str(key): obj["metadata"].get("labels") or {} for key, obj in held.items()}
        found = [problem for problem in found if selects(labels.get(problem["subject"], {}))]
    return sorted(found, key=lambda problem: (problem["subject"], problem["reason"], problem["about"]))
