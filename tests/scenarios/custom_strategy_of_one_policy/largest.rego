# The larger number of each field wins, whichever policy has it.
package bridge.strategies.largest_of_one_policy

result := {"spec": {field: max(values) |
	some field, _ in object.union(input.established.spec, input.challenger.spec)
	values := [side.spec[field] | some side in [input.established, input.challenger]]
}}
