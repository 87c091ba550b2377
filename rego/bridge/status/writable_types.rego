package bridge.status

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The types of objects that the bridge may write because of active policy kinds, of the `replicated` types and the
#   policies themselves: those with status writes, and those with annotations. RBAC must allow these.
writable_types(replicated) := {
	"status": sort(types - annotated),
	"annotations": sort(annotated),
} if {
	types := object.keys(kinds.sets.managed) | (_marked(replicated) & (replicated | kinds.names))
	annotated := {type | some type in (types - object.keys(kinds.sets.managed)); form(type) == "annotations"}
}

_marked(replicated) := {type |
	some name, _ in kinds.sets.managed
	kind := kinds.get(name)
	some type in (_declared(kind, replicated) | _acted_on(kind, replicated))
} | {type |
	some name, _ in kinds.sets.managed
	kind := kinds.get(name)
	kind.statusShape == "Ancestors"
	some type in _at_level(kind.ancestorLevel, kind, replicated)
}

# For a kind that does not list its targets: types in the hierarchy, and replicated types other than Gateway API's.
_declared(kind, replicated) := {concat("/", [target.group, target.kind]) | some target in kind.targets} if {
	kind.targets
} else := {type | some type, _ in levels.by_type} | {type | some type in replicated; not _gateway_apis(type)}

_acted_on(kind, replicated) := {type |
	some type in _at_level(kind.effectiveTarget, kind, replicated)
	kinds.is_acted_on(kind, type)
}

_at_level("Target", kind, replicated) := _declared(kind, replicated)

_at_level(level, kind, replicated) := {type |
	some type in ({type | some type, _ in levels.by_type} | _backends(kind, replicated))
	level in ({levels.of_type(type)} | {section | section := levels.by_type[type].section})
} if {
	level != "Target"
}

# Any kind that a rule names is a backend; known ones are those that the kind lists, or the settings.
_backends(kind, replicated) := {type | some type in _declared(kind, replicated)} | {type |
	some type in replicated
	not _gateway_apis(type)
}

# Types that are always replicated but are not targets of policies.
_gateway_apis(type) if {
	split(type, "/")[0] in {keys.gateway_api, "policybridge.io", "apiextensions.k8s.io"}
}
