# METADATA
# description: |
#   The structure of the shipped Rego. Every package has a place in `layers` and may refer only to packages of lower
#   layers, or to `others`. Nothing refers to a guardrail, also no other guardrail. A rule whose name begins with `_` may be used only in the file that defines it, although in
#   Rego every file of a package sees it. A query (`# entrypoint: true`) must reach every rule, except those that
#   others use: `_used_by_others`. `input` has the source of each file by its name.
package hack.rego_layers

# Lowest first. Packages of one layer do not refer to each other.
layers := [
	{"bridge.lib"},
	{"bridge.request"},
	{"bridge.merge"},
	{"bridge.lookup"},
	{"bridge.index"},
	{"bridge.kinds"},
	{"bridge.policy"},
	{"bridge.hierarchy"},
	{"bridge.attachment"},
	{"bridge.scopes"},
	{"bridge.effective"},
	{"bridge.outcomes"},
	{"bridge.status"},
	{"bridge.effective_targets"},
	{"bridge.table", "bridge.topology", "bridge.constraints", "bridge.expectations"},
	{"bridge.routing"},
	{"bridge.nearest"},
	{"bridge.problems"},
	{"bridge.queries"},
	{"bridge.admission", "bridge.views", "bridge.answers", "bridge.proxies"},
	{"bridge.v1", "bridge.guardrails", "edge", "system", "checks"},
	{"bridge.fleet", "bridge.decision_log"},
]

# Packages of admins.
others := {"bridge.extensions", "bridge.strategies", "bridge.system"}

_levels := {name: level | some level, names in layers; some name in names}

_modules := {file: rego.parse_module(file, source) | some file, source in input}

# The names of each file's package, from the root of OPA's data.
_packages := {file: [term.value | some place, term in module["package"].path; place > 0] | some file, module in _modules}

# The name of a package in `layers`: that of the part of `bridge` it is in.
_package_name(path) := concat(".", array.slice(path, 0, 2)) if {
	path[0] == "bridge"
} else := path[0]

violations contains sprintf("%s: package %s has no layer", [file, _package_name(path)]) if {
	some file, path in _packages
	not _package_name(path) in object.keys(_levels)
}

violations contains sprintf("%s: %s refers to %s, which is not a package", [file, _package_name(path), other]) if {
	some file, path in _packages
	some reference in _references(_modules[file])
	array.slice(reference, 0, 2) == ["data", "bridge"]
	other := _package_name(array.slice(reference, 1, 3))
	not other in (object.keys(_levels) | others)
}

violations contains message if {
	some file, path in _packages
	some reference in _references(_modules[file])
	reference[0] == "data"
	other := array.slice(reference, 1, 1 + count(path))
	other != path
	_levels[_package_name(other)] >= _levels[_package_name(path)]
	_package_name(other) != _package_name(path)
	message := sprintf("%s: %s refers to %s, which is not in a lower layer", [file, _package_name(path), _package_name(other)])
}

violations contains sprintf("%s: no package may refer to a guardrail, %s", [file, concat(".", other)]) if {
	some file, path in _packages
	some reference in _references(_modules[file])
	array.slice(reference, 0, 3) == ["data", "bridge", "guardrails"]
	other := array.slice(reference, 1, 4)
	other != path
}

violations contains sprintf("%s: %s is another file's", [file, name]) if {
	some file, module in _modules
	arguments := {name | some rule in module.rules; some name in _variables(object.get(rule.head, "args", []))}
	some name in ((_variables(module.rules) - arguments) - _rule_names(module))
	startswith(name, "_")
}

violations contains sprintf("%s: %s is another package's", [file, concat(".", reference)]) if {
	some file, module in _modules
	some reference in _references(module)
	reference[0] in ({"data"} | object.keys(_imports(module)))
	some place, name in reference
	place > 0
	startswith(name, "_")
}

# Private rules that several files of one package define: Rego takes them as one rule.
violations contains sprintf("%s: %s is defined in %s too", [file, name, first]) if {
	some file, module in _modules
	some name in _rule_names(module)
	startswith(name, "_")
	first := min({other |
		some other, path in _packages
		path == _packages[file]
		name in _rule_names(_modules[other])
	})
	first != file
}

# By names, so a variable that is named like a rule counts as its use.
violations contains sprintf("%s: no query reaches %s", [_files[rule], split(rule, " ")[1]]) if {
	count(_entrypoints) > 0 # else these are a part of the packages
	some rule in (object.keys(uses) - graph.reachable(uses, _entrypoints | _used_by_others))
}

_entrypoints := {_named(_packages[file], found[1]) |
	some file, source in input
	some found in regex.find_all_string_submatch_n(`(?m)^# entrypoint: true\n(?:#.*\n)*(?:default )?(\w+)`, source, -1)
}

# What admins' modules and generated modules use, and the queries of OPAs with answers.
_used_by_others := {rule |
	some rule in object.keys(uses)
	some beginning in ["bridge.lib", "bridge.effective_targets ", "bridge.guardrails.", "bridge.constraints.by_target ", "edge "]
	startswith(rule, beginning)
	not startswith(split(rule, " ")[1], "_")
}

# The first file of each rule, by its package and name.
_files := {rule: min({one.file | some one in found}) | some rule, found in _by_name}

# METADATA
# description: The rules that each rule may refer to, `<package> <name>` each.
uses := {rule: union({one.uses | some one in found}) | some rule, found in _by_name}

_by_name[rule] contains {"file": file, "uses": _uses_of(file, module, definition)} if {
	some file, module in _modules
	some definition in module.rules
	rule := _named(_packages[file], definition.head.ref[0].value)
}

_uses_of(file, module, rule) := used if {
	imports := _imports(module)
	own := {_named(_packages[file], name) | some name in _variables(rule)}
	references := _references(rule)
	imported := {_named(imports[reference[0]], reference[1]) | some reference in references}
	absolute := {_named(array.slice(reference, 1, place), name) |
		some reference in references
		reference[0] == "data"
		some place, name in reference
		place > 1
	}
	used := (own | imported) | absolute
}

_named(path, name) := sprintf("%s %s", [concat(".", path), name])

# The packages that a module imports, by the name that it uses.
_imports(module) := {name: array.slice(path, 1, count(path)) |
	some item in object.get(module, "imports", [])
	path := [term.value | some term in item.path.value]
	name := object.get(item, "alias", path[count(path) - 1])
}

_rule_names(module) := {rule.head.ref[0].value | some rule in module.rules}

# The leading constant parts of every reference below a node of the tree.
_references(node) := {parts |
	walk(node, [_, found])
	found.type == "ref"
	last := min({place | some place, term in found.value; place > 0; term.type != "string"} | {count(found.value)})
	parts := [_text(term.value) | some term in array.slice(found.value, 0, last)]
}

_text(value) := value if is_string(value)

_text(value) := "" if not is_string(value)

_variables(node) := {found.value |
	walk(node, [_, found])
	found.type == "var"
}
