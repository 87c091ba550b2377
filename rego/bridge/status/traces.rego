package bridge.status

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

# Everything that a bridge has written into an object, for removal: `conditions` (types), `ancestors` and `parents`
# (names of controllers), `types` of marks in any place, `annotations`, `status` (the bridge wrote all of it),
# `webhooks` by `index` with the `fields` failurePolicy and caBundle. Entries are identified by name for a bridge with
# the policy kinds `former` (`{controllerName, kind}`), otherwise by their writer: `manager`, as in
# metadata.managedFields.
traces(obj, former, manager) := {name: found |
	some name, found in {
		"conditions": _conditions_left(obj, former, manager),
		"ancestors": _ancestors_left(obj, former),
		"parents": _parents_left(obj, former),
		"types": {type | some type in _marks_left(obj, former, manager); shows_any(obj, {type})},
		"annotations": {name |
			some name, _ in object.get(obj.metadata, "annotations", {})
			_our_annotation(obj, name, former, manager)
		},
		"webhooks": _webhooks_left(obj, manager),
		"status": {true | _our_kind(obj); count(object.get(obj, "status", {})) > 0},
	}
	count(found) > 0
}

_written(obj, manager) := [entry | some entry in obj.metadata.managedFields; entry.manager == manager]

# Marks are identified by their names, or by their writer if the policy kind is unknown.
_marks_left(obj, former, manager) := _marks_of(former) | {type |
	some type in _owned_types(obj, manager)
	regex.match(`^[^/]+/[A-Za-z0-9]+(Affected|NotReported)$`, type)
}

# The types of conditions that a manager has written, if the list distinguishes them.
_owned_types(obj, manager) := {type |
	some entry in _written(obj, manager)
	walk(entry.fieldsV1["f:status"], [path, _])
	some part in path
	startswith(part, "k:")
	type := json.unmarshal(trim_prefix(part, "k:")).type
}

_conditions_left(obj, former, manager) := {condition.type |
	not _our_kind(obj)
	some condition in obj.status.conditions
	condition.type in policy_types
	_wrote_condition(obj, condition.type, former, manager)
}

# A policy of a kind whose statuses a bridge writes, or wrote before another controller did.
_wrote_condition(obj, type, former, manager) if {
	some kind in former
	kind.group == keys.group(obj.apiVersion)
	kind.kind == obj.kind
	every other in {entry.manager | some entry in obj.metadata.managedFields; entry.manager != manager} {
		not type in _owned_types(obj, other)
	}
}

_wrote_condition(obj, type, _, manager) if type in _owned_types(obj, manager)

# Only the last writer of an atomic list is known.
_wrote_condition(obj, _, _, manager) if {
	some entry in _written(obj, manager)
	entry.fieldsV1["f:status"]["f:conditions"] == {}
}

_ancestors_left(obj, former) := {entry.controllerName |
	some entry in obj.status.ancestors
	some kind in former
	[kind.kind, kind.controllerName] == [obj.kind, entry.controllerName]
}

_parents_left(obj, former) := {entry.controllerName |
	some entry in obj.status.parents
	some condition in entry.conditions
	condition.type in _marks_of(former)
	some kind in former
	kind.controllerName == entry.controllerName
}

_our_annotation(_, name, former, _) if name in (_marks_of(former) | {"policybridge.io/status"})

_our_annotation(obj, name, _, manager) if {
	field := sprintf("f:%s", [name])
	managers := {entry.manager |
		some entry in obj.metadata.managedFields
		entry.fieldsV1["f:metadata"]["f:annotations"][field]
	}
	managers == {manager}
}

_our_kind(obj) if startswith(obj.apiVersion, "policybridge.io/")

_webhooks_left(obj, manager) := [left |
	obj.kind in {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
	some index, webhook in obj.webhooks
	field := sprintf("k:%s", [json.marshal({"name": webhook.name})])
	owned := [entry.fieldsV1["f:webhooks"][field] | some entry in _written(obj, manager)]
	fields := {"failurePolicy" |
		webhook.failurePolicy == "Fail"
		owned[_]["f:failurePolicy"]
	} | {"caBundle" |
		webhook.clientConfig.caBundle
		owned[_]["f:clientConfig"]["f:caBundle"]
	}
	count(fields) > 0
	left := {"index": index, "fields": fields}
]

# An object has a condition of one of these types, in its status, a listener's or a route's for a parent, or an
# annotation of that name.
shows_any(obj, types) if {
	lists := [object.get(obj, ["status", field], []) | some field in ["listeners", "parents"]]
	some place in array.flatten(array.concat([[object.get(obj, "status", {})]], lists))
	some condition in place.conditions
	condition.type in types
} else if {
	some name, _ in obj.metadata.annotations
	name in types
}

# The condition types with which a policy kind marks the objects that it affects, and the ancestors that a full list
# omits (semantics S3), by their reasons.
types_by_reason(kind) := {"Affected": sprintf("%sAffected", [prefix]), "AncestorsFull": sprintf("%sNotReported", [prefix])} if {
	prefix := sprintf("%s/%s", [split(kind.controllerName, "/")[0], kind.kind])
}

_marks_of(some_kinds) := {type | some kind in some_kinds; some type in types_by_reason(kind)}

# All condition types of these forms that belong to the bridge, including those of former policy kinds.
our_types(former) := _marks_of(_managed | {kind | some kind in former})

controllers(former) := {kind.controllerName | some kind in (_managed | {kind | some kind in former})}

_managed := {kinds.get(name) | some name, _ in kinds.sets.managed}

# The types of objects that the bridge may write because of active policy kinds, of the `replicated` types and the
# policies themselves: those with status writes, and those with annotations. RBAC must allow these.
writable_types(replicated) := {"status": sort(types - annotated), "annotations": sort(annotated)} if {
	types := object.keys(kinds.sets.managed) | (_marked(replicated) & (replicated | kinds.names))
	annotated := {type | some type in (types - object.keys(kinds.sets.managed)); form(type) == "annotations"}
}

_marked(replicated) := {type |
	some kind in _managed
	some type in (_declared(kind, replicated) | {type |
		some type in _at_level(kind.effectiveTarget, kind, replicated)
		kinds.is_acted_on(kind, type)
	})
} | {type |
	some kind in _managed
	kind.statusShape == "Ancestors"
	some level in ({kind.ancestorLevel} | {"Gateway" | kind.ancestorLevel == "ListenerSet"})
	some type in _at_level(level, kind, replicated)
}

# For a kind that does not list its targets: types in the hierarchy, and replicated types other than Gateway API's.
_declared(kind, replicated) := {concat("/", [target.group, target.kind]) | some target in kind.targets} if {
	kind.targets
} else := object.keys(levels.by_type) | _others(replicated)

_at_level("Target", kind, replicated) := _declared(kind, replicated)
_at_level(level, kind, replicated) := {type |
	# Any kind that a rule names is a backend; known ones are those that the kind lists, or the settings.
	some type in (object.keys(levels.by_type) | (_declared(kind, replicated) | _others(replicated)))
	level in ({levels.of_type(type)} | {section | section := levels.by_type[type].section})
} if level != "Target"

# Gateway API's types are always replicated but are not targets of policies.
_others(replicated) := {type |
	some type in replicated
	not split(type, "/")[0] in {keys.gateway_api, "policybridge.io", "apiextensions.k8s.io"}
}
