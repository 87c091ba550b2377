# METADATA
# title: Merge strategies
# description: |
#   A merge strategy combines an established spec and a challenger into one (GEP-713, "Designing a merge strategy").
#   A side is `{spec, origins}`; origins say for each leaf (JSON pointer) which policy it came from. One file a strategy.
package bridge.merge

# METADATA
# description: The strategies by name, with the name that messages use (GEP-713's own).
strategies := {
	"None": "None",
	"AtomicDefaults": "Atomic defaults",
	"AtomicOverrides": "Atomic overrides",
	"PatchDefaults": "Patch defaults",
	"PatchOverrides": "Patch overrides",
}

# METADATA
# description: GEP-713's order of assumed strategies ("Selecting a merge strategy at runtime").
assumed_order := ["AtomicDefaults", "PatchDefaults", "AtomicOverrides", "PatchOverrides", "Custom"]

# METADATA
# description: |
#   A policy's own spec proper as a side of a step.
side(policy, spec, pointers) := {"spec": spec, "origins": {pointer: policy | some pointer in pointers}}
