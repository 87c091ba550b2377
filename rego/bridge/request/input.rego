package bridge.request

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: The problem of a request's input, as a sentence with the valid form. Undefined if it is valid.
input_problem := sprintf("%s must be a string", [field]) if {
	texts := ["host", "path", "method", "sni", "protocol"]
	field := [wrong | some wrong in texts; not is_string(object.get(input, wrong, ""))][0]
} else := sprintf("%s must have at most %d characters", [field, bounds[field]]) if {
	bounds := {"host": 260, "sni": 260, "path": 8192, "method": 256} # a host has 253, and may have a port
	field := [long | some long, bound in bounds; count(object.get(input, long, "")) > bound][0]
} else := sprintf("protocol must be one of %s", [concat(", ", sort(protocols))]) if {
	input.protocol
	not input.protocol in protocols
} else := "port must be a number from 1 to 65535" if {
	not _is_port(object.get(input, "port", 1))
} else := "path must begin with / and must not contain ?: use query for parameters" if {
	not regex.match(`^/[^?#]*$`, object.get(input, "path", "/"))
} else := "grpc must have service and method, both strings without /" if {
	not _is_call(object.get(input, "grpc", {"service": "a", "method": "b"}))
} else := sprintf("%s must be an object of strings, or of lists of strings", [field]) if {
	field := [wrong | some wrong in ["headers", "query"]; not _are_values(object.get(input, wrong, {}))][0]
} else := "gateway must be the key of a Gateway, or of a mesh frontend, <group>/<Kind>/<namespace>/<name>[@frontend]" if {
	input.gateway
	not _takes_requests(input.gateway)
}

_is_port(value) if {
	is_number(value)
	value == floor(value)
	value >= 1
	value <= 65535
}

_is_call(value) if {
	is_string(value.service)
	is_string(value.method)
	not contains(concat("", [value.service, value.method]), "/")
}

_are_values(value) if {
	is_object(value)
	every one in value {
		_is_value(one)
	}
}

_is_value(one) if is_string(one)

_is_value(one) if {
	is_array(one)
	count(one) > 0
	every part in one {
		is_string(part)
	}
}

_takes_requests(key) if {
	keys.parse(key).section == ""
	levels.of(key) in {"Gateway", "Frontend"}
}
