package bridge.queries

import data.bridge.lib.leaves
import data.bridge.lookup

_most_found := 200

# The fields of policies that have one of the `words` in their names or values, where the policy's name and the field
# together have all of them: `[{policy, fields: [{field, value}]}]`. The words are in lower case.
found_fields := array.slice(
	sort({{"policy": key, "fields": fields} |
		some kind in policy_kinds
		some key in lookup.keys_of(kind)
		spec := object.get(lookup.get(key), "spec", {})
		_may_have(lower(json.marshal(spec)))
		fields := sort(_fields_in(lower(key), spec))
		count(fields) > 0
	}),
	0, _most_found,
)

# A text of the whole spec rules most policies out, without a walk.
_may_have(text) if {
	some word in input.words
	contains(text, regex.replace(word, `^.*[.\[\]]`, ""))
}

_fields_in(named, spec) := {{"field": leaves.pointer(names), "value": value} |
	walk(spec, [path, value])
	not _is_parent(value)
	names := [sprintf("%v", [part]) | some part in path]
	text := lower(sprintf("%s %v", [concat(".", names), value]))
	some word in input.words
	contains(text, word)
	every other in input.words {
		contains(concat(" ", [named, text]), other)
	}
}

_is_parent(value) if {
	is_object(value)
	count(value) > 0
}

_is_parent(value) if {
	is_array(value)
	count(value) > 0
}
