package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The fields of a PolicyKind of any class from a CRD's schema: the target kinds if it lists them, whether a ref has a
#   section, whether it may name another namespace, and the place of the status (semantics S3). Fields that the schema
#   does not define are absent.
schema_shape(type) := object.union_n([
	{"targets": targets | targets := _listed_targets(type)},
	{"targetSections": false | _without_sections(type)},
	{"crossNamespace": "ReferenceGrant" | _ref(type).properties.namespace},
	{"statusShape": shape | shape := _schema_status(type)},
])

# METADATA
# description: The fields of a policy's spec in the schema of its CRD.
spec_schema(type) := object.get(crds[type].schema, ["properties", "spec", "properties"], {})

# The schema of one target ref; targetRefs takes precedence over the singular targetRef, as in policies (semantics T1).
_ref(type) := spec_schema(type).targetRefs.items if {
	true
} else := spec_schema(type).targetRef

_without_sections(type) if {
	_ref(type).properties.name
	not _ref(type).properties.sectionName
	not _ref(type)["x-kubernetes-preserve-unknown-fields"]
}

# Target kinds are known only if the schema lists them with unambiguous groups.
_listed_targets(type) := targets if {
	listed := _ref(type).properties.kind.enum
	targets := [{"group": group, "kind": kind, "sections": _has_section_name(type)} |
		some kind in listed
		group := _group_of(type, kind)
	]
	count(targets) == count(listed)
}

_group_of(type, kind) := groups[0] if {
	groups := _ref(type).properties.group.enum
	count(groups) == 1
} else := "core" if {
	kind == "Service"
} else := keys.gateway_api if {
	levels.by_type[concat("/", [keys.gateway_api, kind])]
}

_has_section_name(type) if {
	_ref(type).properties.sectionName
} else := false

_schema_status(type) := "Ancestors" if {
	crds[type].schema.properties.status.properties.ancestors
} else := "Conditions" if {
	crds[type].schema.properties.status.properties.conditions
}
