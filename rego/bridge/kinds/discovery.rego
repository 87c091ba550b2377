package bridge.kinds

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.lookup

crd_type := "apiextensions.k8s.io/CustomResourceDefinition"

# The label with which a CRD declares that it defines a policy kind, and its class (GEP-713, "Policy CRD label").
_policy_label := "gateway.networking.k8s.io/policy"

# The description of a type as a policy kind from its CRD (semantics K1): the class from its label, the rest from its
# schema. `class` is that of an admin's PolicyKind, which changes how the schema is read; empty if there is none.
discovered_fields(type, class) := object.union_n([
	{"class": labelled | labelled := labelled_class(type)},
	{"effectiveTarget": level |
		labelled_class(type)
		_class_of(type, class) == "Inherited"
		level := _assumed_level(type)
	},
	{"sameLevel": "Conflict" |
		# For policies without a field about merging, controllers accept only the oldest at a target.
		labelled_class(type)
		_class_of(type, class) == "Inherited"
		not schema_form(type).specPaths
	},
	_schema_shape(type),
	{"targets": targets |
		# If another layer describes the kind, that layer has the targets.
		not presets[type]
		not declared_specs[type]
		not _listed_targets(type)
		targets := _ruled_targets(type)
	},
	{field: value | _class_of(type, class) == "Inherited"; some field, value in schema_form(type)},
])

# The class from a CRD's label, in any letter case. For the historic `true` it depends on the schema: wrappers, a choice
# of strategy or several target kinds mean an Inherited kind.
labelled_class(type) := "Direct" if {
	_label(type) == "direct"
} else := "Inherited" if {
	_label(type) == "inherited"
} else := "Inherited" if {
	_label(type) == "true"
	_has_merge_form(type)
} else := "Direct" if {
	_label(type) == "true"
}

# The schema of a type has wrappers, a choice of strategy, or several target kinds.
_has_merge_form(type) if schema_form(type) != {}
_has_merge_form(type) if count(_known_targets(type)) > 1

_label(type) := lower(crds[type].label) if crds[type].version != ""

_class_of(type, class) := class if {
	class != ""
} else := labelled_class(type) if {
	true
} else := "Inherited"

# The assumed level, because no schema states at which one a policy acts: backends if it can be attached to one,
# otherwise rules.
_assumed_level(type) := "Backend" if {
	some target in _known_targets(type)
	not target.group == "gateway.networking.k8s.io"
} else := "Rule"

# The CRD that defines each type, `{key, label, version, schema}`: the label's value, and the served version that is
# read with its schema, empty if there is none. Of two CRDs for one type the oldest counts. CRDs without a label, preset
# and PolicyKind define no policies, and are skipped: a cluster has many.
crds[type] := {
	"key": key,
	"label": object.get(crd.metadata, ["labels", _policy_label], ""),
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
	_may_define_policies(type, crd)
	key := concat("/", [crd_type, "-", name])
}

_may_define_policies(_, crd) if crd.metadata.labels[_policy_label] != ""
_may_define_policies(type, _) if type in _types_of_other_layers

_types_of_other_layers := (object.keys(presets) | object.keys(declared_specs)) | {type | type := input.guessedType}

# Objects are read in that version, so its schema applies to them: the version in the setting `types`
# (`data.bridge_settings.versions`, by type), otherwise the one that the API server prefers.
_read_version(type, crd) := sort({[rank, version] |
	set_version := {name | name := data.bridge_settings.versions[type]}
	some version in crd.spec.versions
	is_served(version)
	rank := [count({version.name} - set_version), _version_rank(version.name)]
})[0][1] if {
	true
} else := {}

is_served(version) if object.get(version, "served", true) != false

# The order of the API server: v2, v1, v1beta2, v1beta1, v1alpha1, then other names in alphabetical order.
_version_rank(name) := [_stages[stage], 0 - to_number(major), 0 - to_number(concat("", ["0", minor]))] if {
	[[_, major, stage, minor]] := regex.find_all_string_submatch_n(`^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$`, name, 1)
} else := [3, name]

_stages := {"": 0, "beta": 1, "alpha": 2}

# The probable fields of a PolicyKind for a type, guessed from its CRD, in the usual order: a list of `{field, value,
# why}` with the reason of each guess. Values that a schema does not show are the most common ones. Undefined if no CRD
# defines the type. `input.guessedType` names the type.
guessed(type) := array.flatten([
	class,
	_guessed_targets(type),
	[_guess("effectiveTarget", _assumed_level(type), "a schema has no level: Backend if a listed kind is not Gateway API's, otherwise Rule") | inherited],
	_guess("crossNamespace", object.get(shape, "crossNamespace", "Forbidden"), {
		true: "a target ref has the field namespace, so another namespace must grant it",
		false: "a target ref has no field namespace",
	}["crossNamespace" in object.keys(shape)]),
	[_guess(field, value, "the schema has wrappers, or a field by which a policy chooses its strategy") |
		inherited
		some field, value in schema_form(type)
	],
	[_guess("sameLevel", "Conflict", "no field of the schema merges policies: only the older of two for one target is accepted") |
		[inherited, schema_form(type) == {}] != [true, false]
	],
	_guess("statusShape", object.get(shape, "statusShape", "Conditions"), {
		true: "the fields of status in the schema",
		false: "the schema has neither status.ancestors nor status.conditions",
	}["statusShape" in object.keys(shape)]),
]) if {
	crds[type].version != ""
	shape := _schema_shape(type)
	class := _guessed_class(type)
	inherited := class.value == "Inherited"
}

_guess(field, value, why) := {"field": field, "value": value, "why": why}

_guessed_class(type) := _guess("class", labelled_class(type), _if_inherited("the label of the CRD", type)) if {
	labelled_class(type)
} else := _guess("class", "Inherited", "the schema has wrappers, a choice of strategy, or several target kinds") if {
	_has_merge_form(type)
} else := _guess("class", "Direct", _if_inherited("the schema has no wrappers, no choice of strategy, and does not list several target kinds", type))

_if_inherited(why, type) := sprintf("%s; if a policy also acts below its target, set class: Inherited and effectiveTarget: %s", [why, _assumed_level(type)]) if {
	not "Inherited" in {class | class := labelled_class(type)}
} else := why

_guessed_targets(type) := _guess("targets", targets, "the kinds that the schema lists for a target ref") if {
	targets := _listed_targets(type)
} else := _guess("targets", targets, "the kinds that the schema's validation rules name for a target ref") if {
	targets := _ruled_targets(type)
} else := _guess("targets", null, "neither the schema nor its validation rules list kinds, so a ref may name any: add those that the controller accepts")

# The types of policies that no active policy kind describes, so their policies have no effect (semantics K6):
# `{message, crd?, near?}` by type. A type is one of policies if its CRD has the policy label or a schema with target
# refs, or if an object of it has target refs. The status of an inactive PolicyKind reports that itself. `near` is an
# active policy kind with a similar name.
undescribed[type] := object.union_n([
	{"message": _why_undescribed(type)},
	{"crd": key | key := _policy_crds[type]},
	{"near": near | near := likeness.nearest_type(type, names)},
]) if {
	some type in (object.keys(_policy_crds) | _attached_types)
	not type in names
	not declared_specs[type]
}

# The undescribed types with a CRD: the message by the CRD's key.
undescribed_crds[about.crd] := about.message if some about in undescribed

# An object is a policy that no active policy kind describes.
is_undescribed(key, obj) if {
	may_be_undescribed(keys.type_of(key))
	_has_target_refs(obj)
}

# METADATA
# description: Objects of a type are policies that no active policy kind describes, if they have targetRefs.
may_be_undescribed(type) if {
	not type in names
	not levels.by_type[type]
}

undescribed_message(type) := sprintf("%s has no PolicyKind, so this policy is ignored%s", [type, _hint(type)])

_hint(type) := sprintf(": did you mean %s?", [near]) if {
	near := likeness.nearest_type(type, names)
} else := ": generate a draft with `pbctl init policykind`"

# A label with an unknown value is reported, not guessed.
_why_undescribed(type) := "no version of it is served" if {
	crds[type].label != ""
	crds[type].version == ""
} else := sprintf("label %s: %s is not one of Direct, Inherited, true", [_policy_label, crds[type].label]) if {
	crds[type].label != ""
	not labelled_class(type)
} else := message if {
	crds[type].label != ""
	message := problem(merge_layers(layers_of(type, {})))
} else := sprintf("it has no PolicyKind, so its policies are ignored%s", [_hint(type)])

# The CRDs that define policies, by type: with the policy label, or with target refs in the schema of a served version.
_policy_crds := object.union(
	{type: sort(found)[0] | some type, found in _unlabelled_crds},
	{type: crd.key | some type, crd in crds; crd.label != ""},
)

_unlabelled_crds[type] contains key if {
	some key in lookup.keys_of(crd_type)
	_defines_target_refs(key)
	spec := lookup.get(key).spec
	type := concat("/", [spec.group, spec.names.kind])
}

_defines_target_refs(key) if {
	some i in _versions_read
	some field in index.target_fields
	_is_ref_schema(_field_schema(key, i, field))
}

# The versions of a CRD that are checked for target refs.
_versions_read := [0, 1, 2, 3]

# Read with a ground path: OPA makes a term of everything that a reference with a variable could match, which is every
# schema.
_field_schema(key, i, field) := data.objects["apiextensions.k8s.io"].CustomResourceDefinition["-"][name].spec.versions[i].schema.openAPIV3Schema.properties.spec.properties[field] if {
	not key in lookup.changed_keys
	name := split(key, "/")[3]
} else := lookup.upserts[key].spec.versions[i].schema.openAPIV3Schema.properties.spec.properties[field]

# A ref with an apiVersion is not a target ref of GEP-713: a VerticalPodAutoscaler's targetRef names the object that it
# scales.
_is_ref_schema(schema) if {
	ref := object.get(schema, ["items", "properties"], object.get(schema, "properties", {}))
	ref.kind
	not ref.apiVersion
}

# Types with objects: a folder may contain policies without their CRDs.
_attached_types := {type | data.index.attached[type]; _is_type_of_policies(type)} | {type |
	some key in (object.keys(lookup.upserts) | {policy | data.index.selectors[_][_][_][policy]})
	type := keys.type_of(key)
	not type in names
	is_undescribed(key, lookup.get(key))
}

_is_type_of_policies(type) if {
	not type in names
	some policy
	data.index.attached[type][_][policy]
	is_undescribed(policy, lookup.get(policy))
}

_has_target_refs(obj) if {
	some ref in array.flatten([object.get(obj.spec, field, []) | some field in index.target_fields])
	is_string(ref.kind)
	not ref.apiVersion
}

# The fields of a PolicyKind of any class from a CRD's schema: the target kinds if it lists them, whether a ref has a
# section, whether it may name another namespace, and the place of the status (semantics S3). Fields that the schema
# does not define are absent.
_schema_shape(type) := object.union_n([
	{"targets": targets | targets := _listed_targets(type)},
	{"targetSections": false |
		_ref(type).properties.name
		not _ref(type).properties.sectionName
		not _ref(type)["x-kubernetes-preserve-unknown-fields"]
	},
	{"crossNamespace": "ReferenceGrant" | _ref(type).properties.namespace},
	{"statusShape": shape | shape := _schema_status(type)},
])

spec_schema(type) := object.get(crds[type].schema, ["properties", "spec", "properties"], {})

# The schema of one target ref; targetRefs takes precedence over the singular targetRef, as in policies (semantics T1).
_ref(type) := spec_schema(type).targetRefs.items if {
	true
} else := spec_schema(type).targetRef if {
	true
} else := spec_schema(type).targetReference

# Target kinds are known only if the schema lists them with unambiguous groups.
_listed_targets(type) := targets if {
	listed := _ref(type).properties.kind.enum
	targets := [{"group": group, "kind": kind, "sections": "sectionName" in object.keys(_ref(type).properties)} |
		some kind in listed
		group := _group_of(type, kind)
	]
	count(targets) == count(listed)
}

_known_targets(type) := _listed_targets(type) if {
	true
} else := _ruled_targets(type)

# The target kinds that validation rules (CEL) name, each alternative of a rule with its group, as in `self.kind ==
# 'Gateway' && self.group == 'gateway.networking.k8s.io'`. Undefined if a group stays unknown.
_ruled_targets(type) := targets if {
	alternatives := {[group, kind] |
		some rule in _rules_of_refs(type)
		some alternative in split(rule, "||")
		some [_, one, list] in regex.find_all_string_submatch_n(`\bkind\s*(?:==\s*'(\w+)'|in\s*\[([^\]]*)\])`, alternative, -1)
		some [_, kind] in regex.find_all_string_submatch_n(`'(\w+)'`, concat("", ["'", one, "'", list]), -1)
		group := _group_in(type, alternative, rule, kind)
	}
	targets := [{"group": keys.group_name(group), "kind": kind, "sections": sections} |
		sections := "sectionName" in object.keys(_ref(type).properties)
		some [_, kind, group] in sort({[keys.group_name(group), kind, group] | some [group, kind] in alternatives})
		group != "?"
	]
	targets != []
	count(targets) == count(alternatives)
}

# The rules about target refs: of the refs and their fields, and those of the spec that name them.
_rules_of_refs(type) := {rule |
	some field in ["targetRefs", "targetRef"]
	walk(spec_schema(type)[field], [path, validation])
	path[count(path) - 2] == "x-kubernetes-validations"
	rule := validation.rule
} | {rule |
	some validation in crds[type].schema.properties.spec["x-kubernetes-validations"]
	rule := validation.rule
	contains(rule, "targetRef")
}

_group_in(type, alternative, rule, kind) := groups[0] if {
	groups := _groups_named(alternative)
	count(groups) == 1
} else := groups[0] if {
	groups := _groups_named(rule)
	count(groups) == 1
} else := _group_of(type, kind) if {
	true
} else := "?"

_groups_named(rule) := sort({group | some [_, group] in regex.find_all_string_submatch_n(`\bgroup\s*==\s*'([^']*)'`, rule, -1)})

_group_of(type, kind) := groups[0] if {
	groups := _ref(type).properties.group.enum
	count(groups) == 1
} else := "core" if {
	kind == "Service"
} else := keys.gateway_api if {
	levels.by_type[concat("/", [keys.gateway_api, kind])]
}

_schema_status(type) := "Ancestors" if {
	crds[type].schema.properties.status.properties.ancestors
} else := "Conditions" if {
	crds[type].schema.properties.status.properties.conditions
}

# How a CRD's schema defines merging, as fields of a PolicyKind; empty if it does not. Wrappers (defaults, overrides;
# historic default, override) and a choice of strategy (strategy; Envoy Gateway's mergeType).
schema_form(type) := object.union_n([
	{"specPaths": spec_paths | spec_paths := _spec_paths(type)},
	{"strategies": strategies |
		strategies := _strategies_of(type)
		count(strategies) > 0
	},
	{field: value | _chosen_by(type) == "mergeType"; some field, value in _merge_type_kind},
])

_spec_paths(type) := array.concat(
	[object.union_n([
		{"path": concat("/", ["/spec", name]), "strategy": _wrapper_strategies[name]},
		{"strategyPath": concat("/", ["/spec", name, "strategy"]) | _is_text(spec_schema(type)[name].properties.strategy)},
	]) |
		some name in _wrappers(type)
	],
	[object.union({"path": "/spec"}, {"strategyPath": concat("/", ["/spec", field]) | field := _chosen_by(type)})],
) if count(array.concat(_wrappers(type), [field | field := _chosen_by(type)])) > 0

# The historic wrappers are merged by field (GEP-713's first version), current ones as a whole unless a policy selects
# another strategy.
_wrapper_strategies := {
	"overrides": "AtomicOverrides",
	"override": "PatchOverrides",
	"defaults": "AtomicDefaults",
	"default": "PatchDefaults",
}

# In the order in which they are checked.
_wrappers(type) := [name |
	some name in ["overrides", "override", "defaults", "default"]
	spec_schema(type)[name].type == "object"
]

# The field beside a bare spec with which a policy selects its strategy.
_chosen_by(type) := [name |
	some name in ["strategy", "mergeType"]
	_is_text(spec_schema(type)[name])
][0]

_is_text(schema) if schema.type == "string"

# The strategies of the values that a policy can select; GEP-713's own names need no entry (semantics F7).
_strategies_of(type) := {value: meaning |
	some [place, schema] in _choices(type)
	some value in object.get(schema, "enum", _unlisted[place[count(place) - 1]])
	meaning := _meanings[lower(value)]
}

_choices(type) := [[place, schema] |
	some place in [["strategy"], ["mergeType"], ["overrides", "properties", "strategy"], ["defaults", "properties", "strategy"]]
	schema := object.get(spec_schema(type), place, null)
	_is_text(schema)
]

# The assumed values if a schema does not list them.
_unlisted := {"strategy": ["atomic", "merge", "patch"], "mergeType": ["JSONMerge", "Replace", "StrategicMerge"]}

_meanings := {
	"atomic": "Atomic",
	"merge": "Patch",
	"patch": "Patch",
	"jsonmerge": "PatchDefaults",
	"strategicmerge": "PatchDefaults",
	"replace": "AtomicDefaults",
}

# Envoy Gateway: the more specific policy selects how it merges into the policy of its listener, otherwise of its
# Gateway; without a selection it applies alone; only the older of two for one target is accepted.
_merge_type_kind := {
	"parentLevels": ["Gateway", "ListenerSet", "Listener"],
	"defaultStrategy": "AtomicDefaults",
	"sameLevel": "Conflict",
}
