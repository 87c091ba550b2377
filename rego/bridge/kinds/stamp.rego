package bridge.kinds

import data.bridge.lib.levels

# METADATA
# description: |
#   What the facts of a kind's policies are made from besides the policy: a hash of the kind's description (`by`), and one of the
#   levels that extension modules add. Stored facts with another stamp do not count.
stamp(type) := _described(type) if {
	count(levels.extensions) == 0
} else := concat(" ", [_described(type), crypto.md5(json.marshal(levels.extensions))])

_described(type) := get(type).by if {
	true
} else := description_hash(get(type))

# METADATA
# description: The hash of a kind's description, whoever describes it, with the bounds on policies.
description_hash(description) := crypto.md5(json.marshal([
	object.remove(description, ["layers"]),
	{bounds | bounds := data.bridge.bounds},
]))
