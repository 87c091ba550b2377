package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   RFC 7386's MergePatch of two sides, except that a null stays in the result as a tombstone until the fold ends
#   (semantics F3), which makes it the union of nested objects. A leaf of the result came from the patch if the patch has
#   a leaf there, an equal one too, else from the target (semantics O2). A patch that is empty sets nothing, not even an
#   empty spec (semantics O3).
patched(target, patch) := target if {
	patch.spec == {}
} else := {"spec": object.union(target.spec, patch.spec), "origins": object.union(target.origins, patch.origins)} if {
	_no_leaf_in_place_of_others(object.keys(target.origins), object.keys(patch.origins))
} else := {"spec": spec, "origins": origins} if {
	spec := object.union(target.spec, patch.spec)
	origins := {pointer: object.get(patch.origins, pointer, object.get(target.origins, pointer, null)) |
		some pointer in leaves.pointers(spec)
	}
}

# Where one side has all leaves of the other, the result has the same leaves, and nobody need look for them.
_no_leaf_in_place_of_others(target, patch) if {
	count(target - patch) == 0
} else if {
	count(patch - target) == 0
}
