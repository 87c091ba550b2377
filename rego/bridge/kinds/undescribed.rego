package bridge.kinds

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.lookup

# METADATA
# description: |
#   The types of policies that no active policy kind describes, so their policies have no effect (semantics K6):
#   `{message, crd?, near?}` by type. A type is one of policies if its CRD has the policy label or a schema with target
#   refs, or if an object of it has target refs. The status of an inactive PolicyKind reports that itself. `near` is an
#   active policy kind with a similar name.
undescribed[type] := object.union_n([
	{"message": _why_undescribed(type)},
	{"crd": key | key := _policy_crds[type]},
	{"near": near | near := likeness.nearest_type(type, names)},
]) if {
	some type in (object.keys(_policy_crds) | _attached_types)
	not type in names
	not declared_specs[type]
}

# METADATA
# description: |
#   The undescribed types with a CRD: the message by the CRD's key.
undescribed_crds[about.crd] := about.message if some about in undescribed

# METADATA
# description: An object is a policy that no active policy kind describes.
is_undescribed(key, obj) if {
	_has_target_refs(obj)
	type := keys.type_of(key)
	not type in names
	not levels.by_type[type]
}

# METADATA
# description: The message for the author of such a policy.
undescribed_message(type) := sprintf("no policy kind describes %s, so this policy has no effect%s", [type, _hint(type)])

_hint(type) := sprintf(": did you mean %s?", [near]) if {
	near := likeness.nearest_type(type, names)
} else := ": write a PolicyKind, `bridge init policykind` prints one"

_why_undescribed(type) := discovery_problem(type) if {
	crds[type].label != ""
} else := sprintf("no policy kind describes it, so its policies have no effect%s", [_hint(type)])

# The CRDs that define policies, by type: with the policy label, or with target refs in the schema of a served version.
_policy_crds[type] := crd.key if {
	some type, crd in crds
	crd.label != ""
}

_policy_crds[type] := sort(found)[0] if {
	some type, found in _unlabelled_crds
	not _is_labelled(type)
}

_unlabelled_crds[type] contains concat("/", [crd_type, "-", name]) if {
	some name in _crd_names
	_defines_target_refs(name)
	spec := _crd_spec(name)
	type := concat("/", [spec.group, spec.names.kind])
}

_is_labelled(type) if crds[type].label != ""

_crd_names := {name |
	data.objects["apiextensions.k8s.io"].CustomResourceDefinition["-"][name]
	not concat("/", [crd_type, "-", name]) in lookup.changed_keys
} | {keys.parse(key).name | some key, _ in lookup.upserts; keys.parse(key).type == crd_type}

_crd_spec(name) := {"group": spec.group, "names": {"kind": spec.names.kind}} if {
	spec := lookup.get(concat("/", [crd_type, "-", name])).spec
}

_defines_target_refs(name) if {
	some i in _versions_read
	some field in index.target_fields
	_is_ref_schema(_field_schema(name, i, field))
}

# The versions of a CRD that are checked for target refs.
_versions_read := [0, 1, 2, 3]

# Read with a ground path: OPA makes a term of everything that a reference with a variable could match, which is every
# schema.
_field_schema(name, i, field) := data.objects["apiextensions.k8s.io"].CustomResourceDefinition["-"][name].spec.versions[i].schema.openAPIV3Schema.properties.spec.properties[field] if {
	not concat("/", [crd_type, "-", name]) in lookup.changed_keys
} else := lookup.upserts[concat("/", [crd_type, "-", name])].spec.versions[i].schema.openAPIV3Schema.properties.spec.properties[field]

# A ref with an apiVersion is not a target ref of GEP-713: a VerticalPodAutoscaler's targetRef names the object that it
# scales.
_is_ref_schema(schema) if {
	ref := object.get(schema, ["items", "properties"], object.get(schema, "properties", {}))
	ref.kind
	not ref.apiVersion
}

# Types with objects: a folder may contain policies without their CRDs.
_attached_types := ({type |
	data.index.attached[type]
	_is_type_of_policies(type)
} | {type |
	some key, obj in lookup.upserts
	_has_target_refs(obj)
	type := keys.type_of(key)
	not levels.by_type[type]
}) | {type |
	some policy
	data.index.selectors[_][_][_][policy]
	type := keys.type_of(policy)
	not type in names
	_has_target_refs(lookup.get(policy))
}

_is_type_of_policies(type) if {
	not type in names
	not levels.by_type[type]
	some policy
	data.index.attached[type][_][policy]
	_has_target_refs(lookup.get(policy))
}

_has_target_refs(obj) if {
	ref := obj.spec.targetRef
	is_string(ref.kind)
	not ref.apiVersion
}

_has_target_refs(obj) if {
	some field in ["targetRefs", "targetSelectors"]
	some ref in obj.spec[field]
	is_string(ref.kind)
	not ref.apiVersion
}
