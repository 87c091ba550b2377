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
	"Custom": "Custom",
}

# METADATA
# description: GEP-713's order of assumed strategies ("Selecting a merge strategy at runtime").
assumed_order := ["AtomicDefaults", "PatchDefaults", "AtomicOverrides", "PatchOverrides", "Custom"]

# METADATA
# description: |
#   One step by what a pair goes by, `{strategy, rules}`: Patch under rules merges keyed sides (semantics F8). A side that
#   is `{error}` stays one (semantics F9).
combined(how, established, challenger) := [side | some side in [established, challenger]; side.error][0] if {
	true
} else := custom(how, established, challenger) if {
	how.strategy == "Custom"
} else := step(how.strategy, established, challenger) if {
	not how.strategy in {"PatchDefaults", "PatchOverrides"}
} else := step(how.strategy, under(established, []), under(challenger, [])) if {
	how.rules == []
} else := patched_by_rules(under(established, how.rules), under(challenger, how.rules), "target") if {
	how.strategy == "PatchDefaults"
} else := patched_by_rules(under(challenger, how.rules), under(established, how.rules), "patch")

# METADATA
# description: A side in the form in which these rules merge it; without rules every list is a leaf.
under(side, merge_rules) := side if {
	object.get(side, "rules", []) == merge_rules
} else := keyed(plain.spec, plain.origins, merge_rules) if {
	plain := listed(side)
}

# METADATA
# description: |
#   A policy's own spec proper as a side of a step.
side(policy, spec, pointers) := {"spec": spec, "origins": {pointer: policy | some pointer in pointers}}
