# METADATA
# title: The historic form of GEP-713, `override` and `default` in one policy
# description: |
#   For a PolicyKind with `custom: historic_wrappers` and `defaultStrategy: Custom`, whose policies may have both wrappers
#   (GEP-713, first version, "Hierarchy"): A override > B override > C override > C default > B default > A default, field
#   by field. The effective spec keeps both wrappers: its `override` applies over its `default`. Fields beside the wrappers
#   have no effect.
package bridge.strategies.historic_wrappers

result := {"spec": {wrapper: merged |
	some wrapper, sides in {
		"override": [input.challenger, input.established],
		"default": [input.established, input.challenger],
	}
	merged := object.union_n([object.get(side.spec, wrapper, {}) | some side in sides])
	count(merged) > 0
}}
