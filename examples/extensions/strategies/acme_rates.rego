# METADATA
# title: A custom merge strategy, the lower rate wins
# description: |
#   For a PolicyKind with `custom: acme_rates`. Of two policies that limit the same thing (`limits.<name>.rate`) the lower
#   limit counts, whichever of them stands higher; limits that only one of them has stay. All other fields are those of
#   the challenger, else of the established one.
package bridge.strategies.acme_rates

result := {"spec": object.union(united, {"limits": limits}), "origins": origins} if {
	united := object.union(input.established.spec, input.challenger.spec)
	limits := {name: sides[0].spec.limits[name] |
		some name, _ in object.get(united, "limits", {})
		sides := _lowest_first(name)
	}
	origins := {pointer: sides[0].origins[pointer] |
		some name, limit in limits
		sides := _lowest_first(name)
		some field, _ in limit
		pointer := sprintf("/limits/%s/%s", [name, field])
	}
}

# The sides that have a limit of a name, the lower one first, and of two equal ones the established one.
_lowest_first(name) := [row[2] | some row in sort([[side.spec.limits[name].rate, place, side] |
	some place, side in [input.established, input.challenger]
])]
