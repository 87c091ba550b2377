package bridge.constraints

import data.bridge.constraints.dispatch
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The violations of Constraints with these `names` by the stored objects `object_keys`, as rows `{constraint, object,
#   enforcementAction, message, details}`. `object_keys` null means all objects of the kinds that a Constraint names.
violations(names, object_keys) := {violation |
	some name in names
	spec := active_constraints[name]
	some key in _keys_to_judge(name, object_keys)
	it := subject_of(key)
	matches(object.get(spec, "match", {}), it)
	some [message, details] in _violations_by(step(name, it), key)
	violation := {
		"constraint": name,
		"object": key,
		"enforcementAction": action(spec),
		"message": message,
		"details": details,
	}
}

# METADATA
# description: The keys of the stored objects whose kind a Constraint names, or of all audited objects if it names none.
audit_keys(name) := {key |
	match := object.get(active_constraints[name], "match", {})
	some object_type in lookup.types
	not is_exempt(object_type)
	matches_type(match, object_type)
	some key in lookup.keys_of(object_type)
}

# METADATA
# description: The same, for objects in these namespaces.
audit_keys_in(name, namespaces) := {key |
	some key in audit_keys(name)
	parts := keys.parse(key)
	_within(parts) in namespaces
}

_within(parts) := parts.name if parts.type == "core/Namespace"

_within(parts) := parts.namespace if parts.type != "core/Namespace"

_keys_to_judge(name, null) := audit_keys(name)

_keys_to_judge(name, object_keys) := {key |
	some key in object_keys
	parts := keys.parse(key)
	not is_exempt(parts.type)
	matches_type(object.get(active_constraints[name], "match", {}), parts.type)
	lookup.get(key)
} if {
	object_keys != null
}

_violations_by(done, _) := {[done.violation, {}]} if done.violation

_violations_by(done, key) := violations_of(done.policy, answer) if {
	policy := done.policy
	answer := dispatch.violations[policy] with input as {"parameters": done.parameters, "review": review(key)}
}

# METADATA
# description: |
#   The review of a stored object in the form of Gatekeeper's audit: without operation, user and old object, which are
#   unknown.
review(key) := {
	"kind": {"group": api_group(keys.group(obj.apiVersion)), "version": _version(obj.apiVersion), "kind": obj.kind},
	"name": obj.metadata.name,
	"namespace": object.get(obj.metadata, "namespace", ""),
	"object": obj,
} if {
	obj := lookup.get(key)
}

_version(api_version) := split(api_version, "/")[count(split(api_version, "/")) - 1]
