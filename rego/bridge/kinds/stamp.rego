package bridge.kinds

import data.bridge.lib.levels

# METADATA
# description: |
#   The inputs of facts of a kind's policies besides the policy: a hash of the kind's description (`by`), and one of the
#   levels from extension modules. Stored facts with another stamp do not count.
stamp(type) := _described(type) if {
	count(levels.extensions) == 0
} else := concat(" ", [_described(type), crypto.md5(json.marshal(levels.extensions))])

_described(type) := get(type).by if {
	true
} else := description_hash(get(type))

# METADATA
# description: The hash of a kind's description, with the bounds on policies.
description_hash(description) := crypto.md5(json.marshal([
	object.remove(description, ["layers"]),
	{bounds | bounds := data.bridge_settings.bounds},
]))
