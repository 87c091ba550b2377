package bridge.kinds

import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.merge

# A policy kind's description with every default filled in (design, "Policy kinds"; semantics P5, C2).
normal_form(type, spec) := object.union_n([
	_defaults,
	_class_defaults[object.get(spec, "class", "Inherited")],
	{"defaultStrategy": _default_strategy(spec)},
	{"sameLevel": "OlderEstablished" | spec.defaultStrategy == "Additive"},
	object.remove(spec, ["targets"]),
	{"selectors": entries | entries := _selector_entries(spec.selectors)},
	{"boundBy": entries | entries := _binding_entries(type, spec.boundBy)},
	{"hierarchy": entries | entries := _placing_entries(spec.hierarchy)},
	{"group": split(type, "/")[0], "places": places(object.get(spec, "specPaths", _defaults.specPaths), _combines_wrappers(type, spec))},
	{"schemaDefaults": given | given := _schema_defaults(type, object.get(spec, "specPaths", [])); count(given) > 0},
	{"targets": targets | targets := _targets(spec)},
	{"rules": rules | rules := merge.rules(object.get(spec, "merge", {})); count(rules) > 0},
	{"strategyRules": by_value | by_value := _strategy_rules(spec); count(by_value) > 0},
	{"order": order | order := _order_keys(spec.order)},
	{"mustAgree": [leaves.segments(pointer) | some pointer in spec.mustAgree] | spec.mustAgree},
	{"weight": {"segments": leaves.segments(spec.weight.path)} | spec.weight},
	{"delegation": {"segments": leaves.segments(spec.delegation.path), "strategies": spec.delegation.strategies} | spec.delegation},
	{"quantities": entries | entries := _quantity_entries(spec.quantities)},
	{"remarks": entries | entries := _remark_entries(spec.remarks)},
	{"actsOn": types | types := _acts_on(spec); count(types) > 0},
])

_defaults := {
	"class": "Inherited",
	"mode": "Observe",
	"crossNamespace": "Forbidden",
	"specPaths": [{"path": "/spec"}],
	"strategies": {},
	"conditions": "Programmed",
	"statusShape": "Conditions",
	"ancestorLevel": "Gateway",
}

_class_defaults := {
	"Direct": {"sameLevel": "Conflict", "effectiveTarget": "Target"},
	"Inherited": {"sameLevel": "OlderEstablished"},
}

_targets(spec) := [object.union(entry, {field: value | some field, value in target; field in {"role", "virtual", "protocols", "wholePorts", "ownPlaces", "names", "controllers", "exceptAddresses", "label", "servedBy", "needsSection", "ownSections"}}) |
	some target in spec.targets
	group := keys.group_name(object.get(target, "group", ""))
	entry := {"group": group, "kind": target.kind, "sections": object.get(target, "sections", false)}
] if spec.targets

# The target kinds of the effective level. A target with the role of a mesh frontend is above routes, not a backend
# (semantics P5, K4), and one that the kind places above others is above these (P11).
_acts_on(spec) := {type |
	some target in spec.targets
	object.get(target, "role", "Backend") == "Backend"
	type := type_of_target(target)
	not type in {type_of_target(entry.parent) | some entry in spec.hierarchy}
	spec.effectiveTarget in ({levels.of_type(type)} | {level | level := levels.by_type[type].section})
}

_default_strategy(spec) := "None" if {
	spec.class == "Direct"
} else := array.concat(
	[name | some name in merge.assumed_order; name in supported_strategies(spec)],
	["AtomicDefaults"],
)[0]

# The strategies that a policy of the kind can name, or have because of its wrapper.
supported_strategies(spec) := ({place.strategy | some place in spec.specPaths} | {name |
	some meaning in spec.strategies
	some name in _names(strategy_of(meaning))
}) | {"Custom" | spec.custom}

# The strategy of a value at strategyPath, `{strategy, merge}` or only a name (semantics F7).
strategy_of(meaning) := object.get(meaning, "strategy", null) if {
	is_object(meaning)
} else := meaning

_strategy_rules(spec) := {value: merge.rules(meaning.merge) |
	some value, meaning in object.get(spec, "strategies", {})
	meaning.merge
}

_names(meaning) := {concat("", [meaning, "Defaults"]), concat("", [meaning, "Overrides"])} if {
	meaning in {"Atomic", "Patch"}
} else := {meaning}

# Derived properties of a policy kind that most queries need, see `traits_of`. Stored in `data.kinds` as `traits`.
traits(policy_kind) := get(policy_kind).traits

# The traits of a kind's description: `joins`: what it joins on a path, every one of its `policies`, `levels`,
# those of delegating `routes`, or a policy with one of its `parents` (see `effective.sides`); `direct`: it is of class Direct (semantics C2), `additive`:
# all its policies apply (C4), `merging`: how a stack becomes one spec, `consumers`: its policies that target another namespace count only for requests from
# their own (P6); `atTargets`: it acts at its declared targets, with class Direct or with the effectiveTarget Target, where
# the policies above merge, and objects that no policy names are not effective targets (C1); `omits`: it omits paths below some
# controllers, or to targets without routes; `sourceless`: the effective
# policy at a target is the same for all sources of requests, unless a mesh frontend is above it; `namespaces`: its paths
# name Namespaces, because its policies may target them (P3); `selecting`: its policies may select their targets by a
# field, `limitsRefs`: to some names, or to sections, `ranked`: not only their age decides which of them comes first, `defaults`: of those that select everything in a namespace, only the oldest counts (T8); `contests`: so, or because policies must agree, they may be in conflict without a `sameLevel` that says so; `bound`: other objects bind
# its policies to their targets (T10), `named`: each of its policies names its targets, `withheld`: fields of a policy may keep it without effect (T9); `objects`, `sections`:
# the types whose objects, or all of whose sections, are its effective targets; `doubtful`: answers may be incomplete;
# `marked`: for this reason, or because a route's rule may have the fields of its policies, its policies have remarks, or a
# route may choose their strategy, what is in effect may differ from the merge; `joining`: how stacks are joined, by the
# `routes` that choose a strategy, by `parts` of a policy, which may have a wrapper of each direction, or as `joins`; `reads`:
# the types of other objects that the bridge reads for the kind: what binds its policies, what it places, and the parameters with which its
# controllers let Gateways share proxies.
traits_of(kind) := {
	"joins": _joins(kind),
	"joining": _joining(kind),
	"direct": direct,
	"additive": kind.defaultStrategy == "Additive",
	"merging": _merging(kind),
	"consumers": consumers,
	"atTargets": at_targets,
	"omits": count(object.filter(kind, ["controllers", "needsRoutes"])) > 0,
	"sourceless": {direct, consumers, at_targets, kind.effectiveTarget in {"Backend", "Port"}} == {false},
	"namespaces": [target | some target in object.get(kind, "targets", [_namespace]); object.subset(target, _namespace)] != [],
	"selecting": "selectors" in object.keys(kind),
	"contests": _contests(kind, defaults),
	"limitsRefs": [true | some target in kind.targets; some field in ["names", "needsSection"]; target[field]] != [],
	"ranked": count(object.filter(kind, ["selectors", "weight", "precedence"])) > 0,
	"defaults": defaults,
	"bound": "boundBy" in object.keys(kind),
	"reads": sort({type | some entry in kind.boundBy; some type in [entry.type, entry.of, entry.to]; type != ""} | (({type_of_target(target) |
		kind.boundBy
		some target in kind.targets
	} | {type | some entry in kind.hierarchy; some type in [entry.parent, entry.child]}) | {implementations.merging_type(implementations.merging[controller]) | some controller in kind.controllers})),
	"named": object.filter(kind, ["selectors", "boundBy", "optionalRefs"]) in [{}, {"optionalRefs": false}],
	"withheld": count(object.filter(kind, ["staged", "copies"])) > 0,
	"doubtful": doubtful,
	"marked": {doubtful, count(object.filter(kind, ["shadowedBy", "remarks", "delegation"])) > 0} != {false},
	"objects": {type | some type, level in acted_on; level.object == kind.effectiveTarget},
	"sections": {type | some type, level in acted_on; level.section == kind.effectiveTarget; type != "core/Service"},
} if {
	direct := kind.class == "Direct"
	consumers := kind.crossNamespace == "Consumer"
	at_targets := kind.effectiveTarget == "Target"
	defaults := [selector | some selector in kind.selectors; selector.namespaceDefault] != []
	doubtful := array.concat(object.get(kind, "notModeled", []), [label | label := kind.targets[_].label]) != []
	acted_on := {type: level | not at_targets; some type, level in levels.by_type; is_acted_on(kind, type)}
}

_merging(kind) := "Listed" if {
	kind.defaultStrategy == "Additive"
} else := "LevelLists" if {
	kind.merge.levelLists
} else := "Merged"

_namespace := {"group": "core", "kind": "Namespace"}

# The policies of one level, or of one target, are one side: if the oldest of a level wins (semantics F5), and if the
# specs of a Direct kind at one target are united (C2) or meet for the requests of one consumer (P6).
_joins(kind) := "parents" if {
	kind.parentLevels
} else := "routes" if {
	kind.delegation
} else := "levels" if {
	kind.sameLevel == "OldestWins"
} else := "levels" if {
	kind.class == "Direct"
	kind.sameLevel == "ConflictOnOverlap"
} else := "levels" if {
	kind.class == "Direct"
	kind.crossNamespace == "Consumer"
} else := "policies"

_joining(kind) := "routes" if {
	kind.delegation
} else := "parts" if {
	_has_parts(kind)
} else := _joins(kind)

_has_parts(kind) := [true | some place in kind.places; place.partners != {}] != []

_contests(_, true) := true
_contests(kind, false) := "mustAgree" in object.keys(kind)

# The values of `sameLevel` by which policies exclude others of one target.
conflicting := {"Conflict", "ConflictOfAll", "ConflictOnOverlap", "NoneOfSeveral"}

is_direct(policy_kind) := traits(policy_kind).direct
is_additive(policy_kind) := traits(policy_kind).additive
is_consumer_kind(policy_kind) := traits(policy_kind).consumers
acts_at_targets(policy_kind) := traits(policy_kind).atTargets
names_namespaces(policy_kind) := traits(policy_kind).namespaces
has_selectors(policy_kind) := traits(policy_kind).selecting
is_bound(policy_kind) := traits(policy_kind).bound
needs_refs(policy_kind) := traits(policy_kind).named
has_namespace_defaults(policy_kind) := traits(policy_kind).defaults

# An Inherited kind that acts at its declared targets (semantics C1, effectiveTarget Target).
acts_where_declared(policy_kind) := [acts_at_targets(policy_kind), is_direct(policy_kind)] == [true, false]

# A kind acts on objects of a type, or on their sections: on its target kinds of its effective level; if there are none,
# on all types (semantics P5).
is_acted_on(kind, type) if type in object.get(kind, "actsOn", {type})

# A policy may have a wrapper of each direction, each with its own part of the spec: unless the kind, or the schema of
# its CRD, excludes that, or its policies merge in other pairs than those of the hierarchy (semantics F6).
_combines_wrappers(type, spec) if {
	not spec.exclusiveWrappers
	not spec.custom
	not spec.parentLevels
	object.get(spec, "sameLevel", "") != "OldestWins"
	object.get(spec, "class", "Inherited") == "Inherited"
	not _excludes_wrappers(type)
} else := false

# A validation rule of the CRD's schema, or an alternative (`oneOf`) of it, excludes a second wrapper.
_excludes_wrappers(type) if {
	schema := crds[type].schema.properties.spec
	some one, _ in schema.properties
	some other, _ in schema.properties
	one < other
	_excludes(schema, one, other)
}

_excludes(schema, one, other) if {
	some validation in schema["x-kubernetes-validations"]
	rule := regex.replace(validation.rule, `\s`, "")
	some [first, second] in [[one, other], [other, one]]
	some form in ["!(has(self.%s)&&has(self.%s))", "!has(self.%s)||!has(self.%s)", "has(self.%s)!=has(self.%s)"]
	contains(rule, sprintf(form, [first, second]))
} else if {
	required := {field | some alternative in schema.oneOf; some field in alternative.required}
	{one, other} & required == {one, other}
}

# The places where policies of a kind with these `specPaths` may have their spec proper, in order, with derived data,
# `{path, segments, strategy, strategySegments, otherStrategies, drop, inner, rivals, partners, holder}`. `drop` are the
# fields there that are never proper, `withLabels` those that are only in policies that select by labels, `inner` the
# strategy's field deeper inside, `otherStrategies` the places of strategies that belong to other entries, `rivals` the
# wrappers that exclude this one, `partners` those of the other direction that a policy may have too if wrappers are
# `combined`, `holder` the bare spec around this wrapper with its allowed fields. Stored in `data.kinds`, so no query
# computes them.
places(spec_paths, combined) := [place |
	some entry in spec_paths
	partners := {other.path: leaves.segments(other.path) |
		combined
		some other in spec_paths
		{_direction(entry), _direction(other)} == {"Defaults", "Overrides"}
	}
	segments := leaves.segments(entry.path)
	relative := _strategy_field(entry)
	strategy_segments := leaves.segments(object.get(entry, "strategyPath", ""))
	place := {
		"path": entry.path,
		"segments": segments,
		"strategy": object.get(entry, "strategy", ""),
		"strategySegments": strategy_segments,
		"otherStrategies": [other |
			some other in {leaves.segments(other.strategyPath) | some other in spec_paths; not partners[other.path]}
			not other in [[], strategy_segments]
			array.slice(other, 0, count(segments)) != segments
		],
		"drop": array.concat(_never_proper(entry), _wrappers_in(spec_paths, segments)),
		"withLabels": object.get(entry, "withLabels", []),
		"inner": [relative | count(relative) > 1],
		"rivals": {other.path: leaves.segments(other.path) |
			some other in spec_paths
			not _inside(other.path, entry.path)
			not _inside(entry.path, other.path)
			not partners[other.path]
		},
		"partners": partners,
		"holder": _holder(spec_paths, segments),
	}
]

# The direction of a wrapper by its strategy; undefined for a bare spec without one.
_direction(entry) := regex.find_n(`(Defaults|Overrides)$`, entry.strategy, 1)[0]

# The fields of a spec at an entry's path that are refs, the strategy, or declared as not proper.
_never_proper(entry) := array.concat(
	array.concat(["targetRefs", "targetRef", "targetSelectors", "targetReference"], object.get(entry, "without", [])),
	[field | some field in _strategy_field(entry); count(_strategy_field(entry)) == 1],
)

# The strategy's field relative to the spec, if it is inside it.
_strategy_field(entry) := rest if {
	path := leaves.segments(entry.strategyPath)
	base := leaves.segments(entry.path)
	array.slice(path, 0, count(base)) == base
	rest := array.slice(path, count(base), count(path))
} else := []

_inside(path, other) if startswith(concat("", [path, "/"]), concat("", [other, "/"]))

# The bare spec that contains a wrapper, `{segments, allowed}`; empty if no bare spec does.
_holder(spec_paths, segments) := {"segments": above, "allowed": allowed} if {
	above := array.slice(segments, 0, count(segments) - 1)
	bare := [entry | some entry in spec_paths; leaves.segments(entry.path) == above][0]
	allowed := array.concat(_never_proper(bare), _wrappers_in(spec_paths, above))
} else := {}

# The fields of a bare spec that are wrappers; a null one is ignored.
_wrappers_in(spec_paths, above) := [name |
	some entry in spec_paths
	path := leaves.segments(entry.path)
	count(path) == count(above) + 1
	array.slice(path, 0, count(above)) == above
	name := path[count(above)]
]

# The leaves that the defaults of the CRD's schema give a field beside a wrapper, by the field's pointer, each as
# `[pointer, value]`: the API server sets them where a policy has no such field. Empty for a kind without wrappers.
_schema_defaults(type, spec_paths) := {field: {leaf |
	some outer, default_value in defaults
	startswith(concat("", [outer, "/"]), concat("", [field, "/"]))
	some leaf in leaves.values(outer, default_value)
} |
	some field, _ in defaults
	_is_beside(field, spec_paths)
} if {
	count(spec_paths) > 1
	defaults := {leaves.pointer(fields): node["default"] |
		walk(crds[type].schema, [path, node])
		_ = node["default"]
		count(path) % 2 == 0
		fields := [name | some position, name in path; position % 2 == 1]
		count([word | some position, word in path; position % 2 == 0; word != "properties"]) == 0
	}
} else := {}

# A wrapper, a strategy, or another field of an object that has a wrapper.
_is_beside(field, spec_paths) if {
	some entry in spec_paths
	field == entry.strategyPath
} else if {
	above := concat("/", array.slice(split(field, "/"), 0, count(split(field, "/")) - 1))
	some entry in spec_paths
	_inside(entry.path, above)
	entry.path != above
}

# The `order` of a kind with the strategy Additive in the form for `rank`: `{segments, ranks?, default?, descending}`,
# where `ranks` has the position of each of the `values` as JSON text.
_order_keys(order) := [object.union_n([
	{"segments": leaves.segments(entry.path), "descending": object.get(entry, "descending", false)},
	{"ranks": {json.marshal(value): place | some place, value in entry.values} | entry.values},
	{"default": value | some field, value in entry; field == "default"},
]) |
	some entry in order
]

# The sort key of a policy of a kind with the strategy Additive, the lowest first: for each entry of the kind's `order`
# `[0, value]`, or `[1, 0]` if the policy has no value for the entry (semantics C4).
rank(policy_kind, obj) := [place |
	some entry in get(policy_kind).order
	value := object.get(obj, entry.segments, object.get(entry, "default", null))
	place := _place(entry, value)
]

_place(entry, value) := [0, entry.ranks[json.marshal(value)]] if {
	true
} else := [1, 0] if {
	entry.ranks
} else := [0, 0 - value] if {
	entry.descending
	is_number(value)
} else := [0, value] if {
	not entry.descending
	value != null
} else := [1, 0]

# The functions in this file take only the policy kind's name, so OPA can cache their results.

# A policy kind's declared targets may be objects of a type (semantics T2); if it lists none, of any type.
may_target(policy_kind, type) if _target_entry(policy_kind, type)

may_target_sections(policy_kind, type) if {
	_target_entry(policy_kind, type).ownSections
} else if {
	levels.has_sections(type)
	_target_entry(policy_kind, type).sections
	not frontend_role(policy_kind, type)
}

# A policy kind targets objects of a type as mesh frontends, by the `role` of its target entry or, by default, because
# it acts above backends (semantics K4). A frontend has no sections.
frontend_role(policy_kind, type) if {
	levels.of_type(type) == "Backend"
	_role(policy_kind, type) == "Frontend"
}

_role(policy_kind, type) := _target_entry(policy_kind, type).role if {
	true
} else := usual_role(get(policy_kind).effectiveTarget)

usual_role(effective_target) := "Backend" if {
	effective_target in {"Backend", "Port", "Target"}
} else := "Frontend"

# The protocols of the ports of a type on which policies of a kind act (`protocols` of its target entry); undefined for
# all.
target_protocols(policy_kind, type) := _target_entry(policy_kind, type).protocols

# Policies of a kind act on whole ports of a type, so that their refs must not leave out an HTTP listener of a port
# (`wholePorts` of its target entry).
acts_on_whole_ports(policy_kind, type) if _target_entry(policy_kind, type).wholePorts

# The conditions of a kind on the objects of a type that depend on other objects: `controllers`, `exceptAddresses`, and
# `ownPlaces`, routes that share a port, a hostname and a path with no other route that the policy does not name.
target_conditions(policy_kind, type) := object.filter(_target_entry(policy_kind, type), ["controllers", "exceptAddresses", "ownPlaces"])

# A condition of a kind on the objects of a type that its policies may name: `names`, `controllers` of their GatewayClass,
# `exceptAddresses`, types of addresses that a Gateway must not have, `label`, which the object or its Namespace has,
# `servedBy`, the Gateway that this names, `needsSection`, whether a ref must name one, `ownSections`, whether it may name sections that the hierarchy does not have.
# Undefined without that condition.
target_condition(policy_kind, type, field) := _target_entry(policy_kind, type)[field]

# Whether a ref of a kind's policies to an object of a type counts depends on more of the object than its existence.
depends_on_target(policy_kind, type) if {
	object.filter(_target_entry(policy_kind, type), ["protocols", "wholePorts", "ownPlaces", "controllers", "exceptAddresses"]) != {}
}

_target_entry(policy_kind, type) := [entry |
	some entry in get(policy_kind).targets
	concat("/", [entry.group, entry.kind]) == type
][0] if {
	true
} else := {"sections": object.get(get(policy_kind), "targetSections", true)} if not get(policy_kind).targets

# Objects of a type, or their sections, count at the policy kind's effective level (semantics P5).
acts_on(policy_kind, type) if is_acted_on(get(policy_kind), type)

# The types of backends among a policy kind's targets that have no level: their objects are effective targets even if no
# rule names them (semantics P2, P5), or a policy has to name them (C1).
backend_types(policy_kind) := {type |
	get(policy_kind).effectiveTarget in {"Backend", "Target"}
	some target in get(policy_kind).targets
	type := concat("/", [target.group, target.kind])
	not levels.by_type[type]
	object.get(target, "role", "Backend") == "Backend"
	acts_on(policy_kind, type)
}

# The `selectors` of a kind, prepared for reading policies: `{place, segments, by, types, gateways, namespaces?}`. `place` is the
# name of the field in messages, and `gateways` selects Gateways.
_selector_entries(entries) := [object.union_n([
	{"segments": leaves.segments(entry.path), "place": concat(".", leaves.segments(entry.path)), "by": object.get(entry, "by", "Objects")},
	{"types": [type_of_target(target) | some target in entry.targets]},
	{"namespaces": leaves.segments(entry.namespaces) | entry.namespaces},
	{"gateways": object.filter(entry, ["controllers", "exceptClasses"])},
	object.filter(entry, ["namespaceDefault"]),
]) |
	some entry in entries
]

# The `boundBy` of a kind, prepared for reading objects that bind: `{type, policies, targets, of, to, namespace…}`. `policies`
# and `targets` are pointers, null for the object itself; a name there is one of the types `of` and `to`. `selects` is a
# type, `within` a pointer into a policy, and `exclusions`, `restricted` and `overrides` change what an object binds.
_binding_entries(policy_kind, entries) := [object.union_n([
	{
		"type": type_of_target(entry),
		"policies": _segments_or_null(entry, "policies"),
		"targets": _segments_or_null(entry, "targets"),
		"of": _named_type(object.get(entry, "policiesKind", null), policy_kind),
		"to": _named_type(object.get(entry, "targetsKind", null), ""),
		"clusterScoped": object.get(entry, ["targetsKind", "scope"], "Namespaced") == "Cluster",
		"overrides": [{"from": leaves.segments(one.from), "to": leaves.segments(one.to)} | some one in entry.overrides],
	},
	{"selects": type_of_target(entry.selects) | entry.selects},
	{"within": leaves.segments(entry.within) | entry.within},
	{"restricted": {"segments": leaves.segments(entry.restricted.path), "value": entry.restricted.value} | entry.restricted},
	{"exclusions": {field: leaves.segments(pointer) | some field, pointer in entry.exclusions} | entry.exclusions},
]) |
	some entry in entries
]

# The `hierarchy` of a kind, prepared for reading objects: `{parent, child, name, selector?}`. `parent` and `child` are types,
# and pointers are lists of segments.
_placing_entries(entries) := [object.union_n([
	{"parent": type_of_target(entry.parent), "child": type_of_target(entry.child), "name": leaves.segments(entry.name)},
	{"selector": {
		"segments": leaves.segments(entry.selector.path),
		"where": {"segments": leaves.segments(entry.selector.where.path), "value": entry.selector.where.value},
	} |
		entry.selector
	},
]) |
	some entry in entries
]

_segments_or_null(entry, field) := leaves.segments(entry[field]) if {
	true
} else := null

_named_type(null, type) := type
_named_type(named, _) := type_of_target(named) if named != null

# Policies of a kind in this namespace affect all namespaces (`rootNamespace`; semantics T8).
is_root_namespace(policy_kind, namespace) if get(policy_kind).rootNamespace == namespace

# The kinds whose policies select by other fields, or in other namespaces, after the query's changes than they did when
# the index was written.
with_other_selectors := {type |
	has_changes
	some type in (names | object.keys(data.kinds))
	_selecting_fields(object.get(active_kinds, type, {})) != _selecting_fields(object.get(data.kinds, type, {}))
}

_selecting_fields(kind) := object.filter(kind, ["selectors", "rootNamespace"])

# Types that are cluster-scoped, by their definition or by their CRD's scope. Only cluster-scoped policies may target
# them, except a policy's own Namespace (semantics T3).
cluster_scoped(type) if type in levels.cluster_scoped

cluster_scoped(type) if {
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type == concat("/", [crd.spec.group, crd.spec.names.kind])
	crd.spec.scope == "Cluster"
}

# METADATA
# description: |
#   What a kind's description states about the size of a field of a policy's spec, `{type, zero?}`; `{}` if nothing.
quantity_at(policy_kind, pointer) := [object.remove(entry, ["segments"]) |
	path := leaves.segments(pointer)
	some entry in get(policy_kind).quantities
	count(entry.segments) == count(path)
	every depth, segment in entry.segments {
		segment in {"*", path[depth]}
	}
][0] if {
	true
} else := {}

_remark_entries(entries) := [{
	"message": entry.message,
	"invalid": object.get(entry, "invalid", false),
	"problem": object.get(entry, "problem", false),
	"when": [object.union({"segments": leaves.segments(one.path)}, object.filter(one, ["values", "except", "default"])) | some one in entry.when],
} |
	some entry in entries
]

_quantity_entries(entries) := [object.union({"segments": leaves.segments(entry.path)}, object.filter(entry, ["type", "zero"])) |
	some entry in entries
]

# METADATA
# description: |
#   Why a JSON pointer is none into the spec proper of a kind's policies: it begins with the place of that spec in a policy,
#   such as a wrapper. Undefined otherwise.
misplaced_field(policy_kind, pointer) := sprintf("the field is a pointer into the effective policy, without %s: write %s", [
	leaves.pointer(array.slice(path, 0, length)),
	leaves.pointer(array.slice(path, length, count(path))),
]) if {
	path := leaves.segments(pointer)
	path[0] in get(policy_kind).places[_].segments
	length := max([count(place) |
		some entry in get(policy_kind).places
		some start in numbers.range(0, count(entry.segments) - 1)
		place := array.slice(entry.segments, start, count(entry.segments))
		array.slice(path, 0, count(place)) == place
	])
}
