# METADATA
# title: Queries of an edge
# description: |
#   The queries of an OPA that has the answers of a view and no objects (docs/how-to/serve-many-opas.md): lookups of what
#   the hub computed (`bridge.answers`), with the names and results of `bridge.v1`. In the bundle this package is
#   `bridge.v1`.
package edge

import data.bridge.lib.keys
import data.bridge.lib.likeness
import data.bridge.request as requests
import data.bridge.table

# As the query of the hub.
effective := unanswered if {
	true
} else := _error("InvalidInput", message) if {
	message := likeness.unknown_field(object.keys(input), {"fields", "allPaths"} | requests.shared_fields)
} else := _error("InvalidInput", "targets must be a list of keys, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not is_array(object.get(input, "targets", null))
} else := _error("InvalidInput", sprintf("%v is not a key: write <group>/<Kind>/<namespace>/<name>[#<section>]", [wrong[0]])) if {
	wrong := [target | some target in _missing; not keys.parse(target)]
} else := not_in_view(_missing[0]) if {
	true
} else := [{"target": node, "policyKind": kind, "paths": paths} |
	some [node, kind] in _scopes
	object.get(input, "policyKind", kind) == kind
	paths := table.rows[node][kind]
]

_missing := [target | some target in input.targets; not table.targets[target]]

_scopes := table.targets[input.targets[0]] if {
	count(input.targets) == 1
} else := {scope | some target in input.targets; some scope in table.targets[target]}

_error(code, message) := {"error": {"code": code, "message": message}}

# The first reason why this OPA does not answer `effective` and `request`, as an error.
unanswered := needs_objects(sprintf("`%s`", [field])) if {
	some field, value in object.filter(input, ["changes", "sourceNamespace", "staged"])
	not value in {"", false}
} else := _error("UnknownPolicyKind", sprintf("%v is not an active policy kind; active kinds: %s", [input.policyKind, concat(", ", in_use)])) if {
	not input.policyKind in table.kinds.active
	in_use := table.kinds.in_use
}

not_in_view(what) := _error("NotInView", sprintf("%s is not in the view %s: ask an OPA whose view has it", [what, data.bridge_view.name]))

needs_objects(what) := _error("NeedsObjects", sprintf("%s needs a view with content objects: %s has content effective", [what, data.bridge_view.name]))

# The queries for all clients that need the objects.
explain := needs_objects("explain")

impact := needs_objects("impact")

problems := needs_objects("problems")

status := needs_objects("status")

tree := needs_objects("tree")

# The first queries of commands, which find objects by their names.
constraints := needs_objects("the command line")

kinds_in_force := needs_objects("the command line")

namespaces := needs_objects("the command line")

policies := needs_objects("the command line")

refused_policykinds := needs_objects("the command line")

resource_versions := needs_objects("the command line")

scopes := needs_objects("the command line")

types := needs_objects("the command line")
