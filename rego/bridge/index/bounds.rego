package bridge.index

# METADATA
# description: |
#   The bounds on policies, `{leaves, depth, targetRefs, size}` (semantics T6): the settings `policy_max_…`, which are
#   in the bundle as `data.bridge_settings.bounds`.
bounds := object.union(default_bounds, data.bridge_settings.bounds) if {
	true
} else := default_bounds

# METADATA
# description: The default bounds, without settings.
default_bounds := {"leaves": 3000, "depth": 64, "targetRefs": 256, "size": 262144}

# METADATA
# description: The maximum number of entries of `spec.targetSelectors`. Each is compared with those before it.
selector_bound := 16

# METADATA
# description: |
#   The bound that a policy object exceeds, with its count, as a message; undefined if it exceeds none (semantics T6).
#   Each step is linear in the JSON text and traverses no value, because tenants choose the size of the object.
excess(policy) := _message("targetRefs", count(policy.spec.targetRefs), bounds.targetRefs) if {
	is_array(policy.spec.targetRefs)
	count(policy.spec.targetRefs) > bounds.targetRefs
} else := _message("targetSelectors", count(policy.spec.targetSelectors), selector_bound) if {
	is_array(policy.spec.targetSelectors)
	count(policy.spec.targetSelectors) > selector_bound
} else := _message("characters of JSON", count(_text(policy)), bounds.size) if {
	count(_text(policy)) > bounds.size
} else := _message("leaves", _leaves(_text(policy)), bounds.leaves) if {
	strings.count(_text(policy), ",") >= bounds.leaves
	_leaves(_text(policy)) > bounds.leaves
} else := sprintf("Policy is nested deeper than %d levels, the bound on a policy's depth", [bounds.depth]) if {
	_brackets(_text(policy)) > bounds.depth
	_deeper(object.remove(policy, _not_counted), bounds.depth)
}

_message(what, number, bound) := sprintf("Policy has %d %s; at most %d are allowed", [number, what, bound])

# Only the spec counts; metadata and status have no effect on a policy.
_not_counted := ["apiVersion", "kind", "metadata", "status"]

_text(policy) := json.marshal(object.remove(policy, _not_counted))

# JSON text has one more value than commas, not counting the objects and lists that contain others.
_leaves(text) := strings.count(regex.replace(text, `"(?:[^"\\]|\\.)*"`, ""), ",") + 1

_brackets(text) := strings.count(text, "{") + strings.count(text, "[")

# OPA stops at the first path that is too long.
_deeper(value, bound) if {
	walk(value, [path, _])
	count(path) > bound
}
