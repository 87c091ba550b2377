package bridge.kinds

# METADATA
# description: |
#   Sets of types that depend on the active kinds alone, each `{type: true}`, see `sets_of`. `data.kind_sets` is the
#   stored result, so that no query iterates over all kinds for one object.
sets := data.kind_sets if {
	not has_changes
} else := sets_of(all_kinds)

# METADATA
# description: |
#   The sets of these kinds: `managed` kinds have mode Manage, `selecting` ones may select their targets by a field, a `preset` alone describes the `presets`. `virtual`: the targets of which
#   every name exists.
sets_of(described) := {
	"managed": {type: true | some type, kind in described; kind.mode == "Manage"},
	"presets": {type: true | some type, kind in described; kind.preset},
	"selecting": {type: true | some type, kind in described; kind.selectors},
	"virtual": {type_of_target(target): true | some kind in described; some target in kind.targets; target.virtual},
}
