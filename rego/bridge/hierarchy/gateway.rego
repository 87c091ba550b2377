package bridge.hierarchy

import data.bridge.index

# METADATA
# description: |
#   The listeners of a Gateway or ListenerSet; of two with the same name the first (the API rejects such an object).
listeners(object_key) := index.facts(object_key).listeners

parents_of_level("Gateway", gateway) := {class |
	some class in index.facts(gateway).class
	exists(class)
}
