package bridge.kinds

import data.bridge.lookup

# METADATA
# description: |
#   The policy kinds that queries evaluate: without kinds of shipped presets that have no policies, because most
#   clusters lack most vendors.
in_use := {type | some type in names; _is_in_use(type)}

_is_in_use(type) if not "Preset" in get(type).layers

_is_in_use(type) if "PolicyKind" in get(type).layers

_is_in_use(type) if {
	[group, kind] := split(type, "/")
	data.objects[group][kind]
}

_is_in_use(type) if {
	not lookup.unchanged
	some key, _ in lookup.upserts
	startswith(key, concat("", [type, "/"]))
}
