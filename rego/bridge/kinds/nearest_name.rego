package bridge.kinds

# METADATA
# description: |
#   The policy kind in force whose name is almost this one: a Kind of the same group that differs at one place in at most
#   two letters, else the same Kind in another group. Undefined where there is none.
nearest_name(type) := sort(similar)[0] if {
	similar := {other |
		some other in names
		[group, kind] := split(other, "/")
		[group, true] == [split(type, "/")[0], _almost(kind, split(type, "/")[1])]
	}
	count(similar) > 0
} else := sort(namesakes)[0] if {
	namesakes := {other | some other in names; split(other, "/")[1] == split(type, "/")[1]}
	count(namesakes) > 0
}

# What is left between the same beginning and the same end has at most two letters in either name.
_almost(one, other) if {
	longest := max([count(one), count(other)])
	begin := max([i | some i in numbers.range(0, min([count(one), count(other)])); substring(one, 0, i) == substring(other, 0, i)])
	ends := [i |
		some i in numbers.range(0, min([count(one), count(other)]) - begin)
		substring(one, count(one) - i, -1) == substring(other, count(other) - i, -1)
	]
	longest - (begin + max(ends)) <= 2
} else := false
