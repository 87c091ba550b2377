# METADATA
# title: Merging
# description: |
#   How specs become one. A side is `{spec, origins}`: `origins` has by the JSON pointer of each leaf the policy that it comes
#   from. Which sides are merged, and in which order, is the subject of `bridge.effective`.
package bridge.merge

# METADATA
# description: The merge strategies by name, with the name that messages use (GEP-713, "Designing a merge strategy").
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
