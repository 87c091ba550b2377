package bridge.index

# METADATA
# description: |
#   Why a ref cannot name any object, with its place in the policy; undefined if it can. Such a ref is Invalid by
#   itself, and the policy's other refs count (semantics T2, T4).
ref_flaw(place, raw) := sprintf("%s is not an object", [place]) if {
	not is_object(raw)
} else := sprintf("%s.%s is missing or empty", [place, absent[0]]) if {
	absent := [field | some field in ["kind", "name"]; object.get(raw, field, "") in {"", null}]
	count(absent) > 0
} else := sprintf("%s.%s is not a string", [place, odd[0]]) if {
	odd := [field | some field in _text_fields; not is_string(object.get(raw, field, "")); raw[field] != null]
	count(odd) > 0
} else := sprintf("%s.%s: %q is not a valid name", [place, odd[0], raw[odd[0]]]) if {
	odd := [field | some field in _text_fields; is_string(raw[field]); regex.match(_marks(field), raw[field])]
	count(odd) > 0
}

_text_fields := ["group", "kind", "namespace", "name", "sectionName", "className"]

# The separators of keys, which would make it another key. A group may have a version.
_marks(field) := `[/#@]` if {
	field in {"kind", "namespace", "name"}
} else := `[#@]|^/`
