package bridge.v1

import data.bridge.effective as engine
import data.bridge.index
import data.bridge.kinds
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   `facts`: what the replicator stores of each of `policies` and of `objects` of the hierarchy, by key.
# entrypoint: true
facts := object.union(
	{key: made | some key in input.policies; made := policies.facts_of(lookup.get(key))},
	{key: made | some key in input.objects; made := index.facts_of(lookup.get(key))},
)

# METADATA
# description: What is kept with each policy kind.
# entrypoint: true
traits := {name: engine.made_traits(name) | some name in kinds.names}
