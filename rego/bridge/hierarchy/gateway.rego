package bridge.hierarchy

import data.bridge.index

# METADATA
# description: The listeners of a Gateway or ListenerSet; of two with one name the first (the API refuses such an object).
listeners(object_key) := index.facts(object_key).listeners

parents_of_level("Gateway", gateway) := {class |
	some class in index.facts(gateway).class
	exists(class)
}
