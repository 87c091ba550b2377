# METADATA
# title: Merging
# description: |
#   The merge of specs. A side is `{spec, origins}`: `origins` maps the JSON pointer of each leaf to its policy.
#   `bridge.effective` decides which sides are merged, and in which order.
package bridge.merge

# METADATA
# description: The merge strategies by name, with the name in messages (GEP-713, "Designing a merge strategy").
strategies := {
	"None": "None",
	"AtomicDefaults": "Atomic defaults",
	"AtomicOverrides": "Atomic overrides",
	"PatchDefaults": "Patch defaults",
	"PatchOverrides": "Patch overrides",
	"Custom": "Custom",
	"Additive": "Additive",
}

# METADATA
# description: GEP-713's order of assumed strategies ("Selecting a merge strategy at runtime").
assumed_order := ["AtomicDefaults", "PatchDefaults", "AtomicOverrides", "PatchOverrides", "Custom"]
