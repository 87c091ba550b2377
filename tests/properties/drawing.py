"""What random objects are drawn with: one seed, and objects that are kept as they are made."""

import random
from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]


class Drawing:
    """Random choices by one seed, and the objects made so far."""

    def __init__(self, seed: int, features: frozenset[str]) -> None:
        self.random = random.Random(seed)
        self.features = features
        self.objects: list[Object] = []

    def pick(self, options: Sequence[Any]) -> Any:
        """One of these."""
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        """True as often as that."""
        return self.random.random() < probability

    def some(self, options: Sequence[Any], low: int, high: int) -> list[Any]:
        """Between `low` and `high` of these."""
        return self.random.sample(list(options), self.random.randint(low, min(high, len(options))))

    def maybe(self, name: str, value: Any, probability: float = 0.5) -> Object:
        """A field, or nothing."""
        return {name: value} if self.chance(probability) else {}

    def has(self, feature: str, probability: float = 0.5) -> bool:
        """Whether a choice falls on a feature; what else is drawn does not depend on its being switched on."""
        drawn = self.chance(probability)
        return feature in self.features and drawn

    def add(self, api_version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
        """Make an object and keep it."""
        metadata: Object = {"name": name, "generation": 1, **rest.pop("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
            if "Selectors" in self.features and self.chance(0.5):
                metadata["labels"] = {"tier": self.pick(("front", "back"))}
        obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
        self.objects.append(obj)
        return obj
