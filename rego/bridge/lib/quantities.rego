# METADATA
# title: Quantities
# description: |
#   Values that have a size. Each has one of several types, and only values of one type are compared. The text `10m` is ten
#   minutes, ten thousandths, or ten megabytes of NGINX: the description of a policy kind states which.
package bridge.lib.quantities

# METADATA
# description: |
#   A value is at most a bound, for a field that a kind describes as `{type?, zero?}`. Without a type both are read by their
#   form, and the answer must be the same for each type that both can have. Undefined if not, if they have no type in common, and
#   if nothing tells the type.
is_at_most(value, bound, described) if {
	not _is_unlimited(value, described)
	_is_ordered(value, bound, described, _compared_as(value, bound, described))
}

# METADATA
# description: A value is at least a bound.
is_at_least(value, bound, described) if {
	_is_ordered(bound, value, described, _compared_as(value, bound, described))
} else if {
	described.zero == "Unlimited"
	_is_unlimited(value, described)
	count(_compared_as(value, bound, described)) > 0
}

# METADATA
# description: Why a value is not within a bound, if it is not its size, as an addition to a message.
remark(value, bound, described) := ", which is no limit" if {
	_is_unlimited(value, described)
	_types_of(value, described) & _types_of(bound, described) != set()
} else := sprintf(", which may be a %s, and %v has no unit", [concat(" or a ", sort(types)), bound]) if {
	_is_ambiguous(value, bound, described)
	types := {lower(type) | some type in _types_of(value, described)}
} else := ", and they are not of one type" if {
	_compared_as(value, bound, described) == set()
} else := ""

# METADATA
# description: |
#   How far a value is from a bound of the same type; one that is no limit is farther than any other. Undefined for other
#   values, and for those of several types.
distance(value, bound, described) := _farthest if {
	_is_unlimited(value, described)
	_compared_as(value, bound, described) != set()
} else := abs(_size(type, _written(value, described)) - _size(type, _written(bound, described))) if {
	[type] := [type | some type in _compared_as(value, bound, described)]
}

_farthest := 1e300

_is_ordered(low, high, described, types) if {
	types != set()
	every type in types {
		_size(type, _written(low, described)) <= _size(type, _written(high, described))
	}
}

# The types as which a value is compared with a bound: those of both. A bound without a unit does not tell the type of a value
# that can have several: ten hours (`600m`) would be within the bound `10`, of which the unit was forgotten.
_compared_as(value, bound, described) := set() if {
	_is_ambiguous(value, bound, described)
} else := _types_of(value, described) & _types_of(bound, described)

_is_ambiguous(value, bound, described) if {
	count(_types_of(value, described)) > 1
	regex.match(`^[+-]?[0-9.]+$`, bound)
}

_types_of(value, described) := {type | some type in _types(described); _size(type, _written(value, described))}

_written(value, described) := sprintf("%v", [value]) if {
	described.type == "Quantity"
	is_number(value)
} else := value

_types(described) := {described.type} if {
	described.type
} else := {"Number", "Quantity", "Duration"}

# Gateway API and Envoy take a timeout of zero as none, and Go's servers one below zero too. Unless the kind describes the
# field, any duration may be one.
_is_unlimited(value, described) if {
	described.zero == "Unlimited"
	_size(described.type, _written(value, described)) <= 0
} else if {
	not described.zero
	object.get(described, "type", "Duration") == "Duration"
	_size("Duration", value) <= 0
}

_size("Number", value) := value if is_number(value)

# Of Kubernetes. A field of this type may have a number, which without a description is another type.
_size("Quantity", value) := units.parse(value) if {
	regex.match(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$`, value)
} else := to_number(found[1]) * _small[found[3]] if {
	[found] := regex.find_all_string_submatch_n(`^([+-]?(0|[1-9][0-9]*)(?:\.[0-9]+)?)([nu])$`, value, -1)
}

_small := {"n": 0.000000001, "u": 0.000001}

# Gateway API's, and Go's: both have the same form here.
_size("Duration", value) := time.parse_duration_ns(value) if regex.match(`^[+-]?[0-9.]+(h|ms|m|us|µs|ns|s)|^0$`, value)

_size("NginxSize", value) := to_number(found[1]) * _nginx_bytes[lower(found[2])] if {
	[found] := regex.find_all_string_submatch_n(`^(0|[1-9][0-9]*)([kKmMgG]?)$`, value, -1)
}

_size("NginxTime", value) := sum([size | some part in parts; size := to_number(part[1]) * _nginx_milliseconds[part[2]]]) if {
	regex.match(`^((0|[1-9][0-9]*)(ms|s|m|h|d|w|M|y|$) ?)+$`, value)
	parts := regex.find_all_string_submatch_n(`([0-9]+)(ms|s|m|h|d|w|M|y|)`, value, -1)
}

_nginx_bytes := {"": 1, "k": 1024, "m": 1048576, "g": 1073741824}

_nginx_milliseconds := {
	"": 1000,
	"ms": 1,
	"s": 1000,
	"m": 60000,
	"h": 3600000,
	"d": 86400000,
	"w": 604800000,
	"M": 2592000000,
	"y": 31536000000,
}
