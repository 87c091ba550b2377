package bridge.kinds

import data.bridge.lookup

# METADATA
# description: The type of CRDs.
crd_type := "apiextensions.k8s.io/CustomResourceDefinition"

# METADATA
# description: |
#   The label with which a CRD declares that it defines a policy kind, and its class (GEP-713, "Policy CRD label").
policy_label := "gateway.networking.k8s.io/policy"

# METADATA
# description: |
#   The description of a type as a policy kind from its CRD (semantics K1): the class from its label, the rest from its
#   schema. `class` is that of an admin's PolicyKind, which changes how the schema is read; empty if there is none.
discovered_fields(type, class) := object.union_n([
	{"class": labelled | labelled := labelled_class(type)},
	{"effectiveTarget": level |
		labelled_class(type)
		_class_of(type, class) == "Inherited"
		level := assumed_level(type)
	},
	{"sameLevel": "Conflict" |
		# For policies without a field about merging, controllers accept only the oldest at a target.
		labelled_class(type)
		_class_of(type, class) == "Inherited"
		not schema_form(type).specPaths
	},
	schema_shape(type),
	{field: value | _class_of(type, class) == "Inherited"; some field, value in schema_form(type)},
])

# METADATA
# description: |
#   The class from a CRD's label, in any letter case. For the historic `true` it depends on the schema: wrappers, a
#   choice of strategy or several target kinds mean an Inherited kind.
labelled_class(type) := "Direct" if {
	_label(type) == "direct"
} else := "Inherited" if {
	_label(type) == "inherited"
} else := "Inherited" if {
	_label(type) == "true"
	has_merge_form(type)
} else := "Direct" if {
	_label(type) == "true"
}

# METADATA
# description: The schema of a type has wrappers, a choice of strategy, or several target kinds.
has_merge_form(type) if count(schema_form(type)) > 0

has_merge_form(type) if count(schema_shape(type).targets) > 1

_label(type) := lower(crds[type].label) if crds[type].version != ""

_class_of(type, "") := labelled_class(type) if {
	true
} else := "Inherited"

_class_of(_, class) := class if class != ""

# METADATA
# description: |
#   The assumed level, because no schema states at which one a policy acts: backends if it can be attached to one,
#   otherwise rules.
assumed_level(type) := "Backend" if {
	some target in schema_shape(type).targets
	not target.group == "gateway.networking.k8s.io"
} else := "Rule"

# METADATA
# description: |
#   The CRD that defines each type, `{key, label, version, schema}`: the label's value, and the served version that is
#   read with its schema, empty if there is none. Of two CRDs for one type the oldest counts. CRDs without a label,
#   preset and PolicyKind define no policies, and are skipped: a cluster has many.
crds[type] := {
	"key": key,
	"label": object.get(crd.metadata, ["labels", policy_label], ""),
	"version": object.get(version, "name", ""),
	"schema": object.get(version, ["schema", "openAPIV3Schema"], {}),
} if {
	some type, claims in _crd_claims
	key := sort(claims)[0][1]
	crd := lookup.get(key)
	version := _read_version(type, crd)
}

_crd_claims[type] contains [lookup.age(key), key] if {
	some name, crd in lookup.objects_in(crd_type, "-")
	type := concat("/", [crd.spec.group, crd.spec.names.kind])
	_may_be_of_policies(type, object.get(crd.metadata, ["labels", policy_label], ""))
	key := concat("/", [crd_type, "-", name])
}

_may_be_of_policies(_, label) if label != ""

_may_be_of_policies(type, _) if presets[type]

_may_be_of_policies(type, _) if declared_specs[type]

_may_be_of_policies(type, _) if type == input.guessedType

# Objects are read in that version, so its schema applies to them: the version in the setting `types`
# (`data.bridge_settings.versions`, by type), otherwise the one that the API server prefers.
_read_version(type, crd) := [version |
	some version in crd.spec.versions
	is_served(version)
	version.name == data.bridge_settings.versions[type]
][0] if {
	true
} else := sort({[rank, version] |
	some version in crd.spec.versions
	is_served(version)
	rank := _version_rank(version.name)
})[0][1] if {
	true
} else := {}

# METADATA
# description: A version of a CRD is served.
is_served(version) if object.get(version, "served", true) != false

# The order of the API server: v2, v1, v1beta2, v1beta1, v1alpha1, then other names in alphabetical order.
_version_rank(name) := [_stages[stage], 0 - to_number(major), 0 - to_number(concat("", ["0", minor]))] if {
	[[_, major, stage, minor]] := regex.find_all_string_submatch_n(`^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$`, name, 1)
} else := [3, name]

_stages := {"": 0, "beta": 1, "alpha": 2}

# METADATA
# description: Why a CRD with the label defines no policy kind; a label with an unknown value is reported, not guessed.
discovery_problem(type) := "no version of it is served" if {
	crds[type].version == ""
} else := sprintf("label %s: %s is none of Direct, Inherited, true", [policy_label, crds[type].label]) if {
	not labelled_class(type)
} else := problem(merge_layers(layers_of(type, {})))
