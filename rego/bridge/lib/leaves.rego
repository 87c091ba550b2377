# METADATA
# title: Leaves
# description: The leaves of a spec as JSON pointers (RFC 6901). Arrays are leaves and are not traversed (semantics O1).
package bridge.lib.leaves

# The pointers of all leaves. An empty spec has one leaf, at the pointer ``.
pointers(spec) := {pointer(path) |
	walk(spec, [path, value])
	_is_leaf(value)
} if {
	not contains(json.marshal(spec), "[")
} else := {pointer(path) |
	walk(spec, [path, value])
	_is_leaf(value)
	not _in_array(path)
}

# The leaves of any value at a pointer, each as `[pointer, value]`.
values(base, value) := {[concat("", [base, relative]), object.get({"": value}, array.concat([""], segments(relative)), null)] |
	some relative in pointers(value)
}

# The spec without the tombstones of its objects; nulls in arrays stay (semantics F3).
without_nulls(spec) := spec if {
	not contains(json.marshal(spec), "null")
} else := json.remove(spec, {path |
	walk(spec, [path, null])
	not _in_array(path)
})

# A path (array of keys) as a JSON pointer.
pointer(path) := concat("/", array.concat([""], [replace(replace(segment, "~", "~0"), "/", "~1") | some segment in path]))

# A field in messages, from its JSON pointer: `colors.accent`, `rules[0].name`, `labels["a.b/c"]`; `(all)` for the whole.
dotted("") := "(all)"

dotted(text) := trim_prefix(concat("", [_step(segment) | some segment in segments(text)]), ".") if text != ""

_step(segment) := sprintf("[%s]", [segment]) if {
	regex.match(`^(\d+|\*)$`, segment)
} else := concat("", [".", segment]) if {
	regex.match(`^[\w-]+$`, segment)
} else := sprintf("[%s]", [json.marshal(segment)])

# A JSON pointer as a path (array of keys).
segments(text) := [replace(replace(raw, "~1", "/"), "~0", "~") | some raw in array.slice(split(text, "/"), 1, 1000)]

_is_leaf(value) if not is_object(value)
_is_leaf(value) if value == {}

_in_array(path) if {
	some segment in path
	is_number(segment)
}
