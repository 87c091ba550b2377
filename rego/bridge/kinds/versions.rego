package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   By served version of the CRD of a type how objects written in it are read (semantics K7). `Read` is the version that the bridge
#   reads. `Like` is a version of which every field and every enumerated value is one of that version too, `Unlike` any other.
#   Undefined where no CRD has a served version.
versions_of(type) := {version.name: _reading(type, version) |
	some version in lookup.get(crds[type].key).spec.versions
	is_served(version)
} if {
	crds[type].version != ""
}

_reading(type, version) := "Read" if {
	version.name == crds[type].version
} else := "Like" if {
	version.schema.openAPIV3Schema == crds[type].schema
} else := "Like" if {
	_is_within(version.schema.openAPIV3Schema, crds[type].schema)
} else := "Unlike"

_is_within(schema, other) if {
	count(_types_of_fields(schema) - _types_of_fields(other)) == 0
	values := _values_of_fields(other)
	every place, enumerated in object.filter(_values_of_fields(schema), object.keys(values)) {
		count(enumerated - values[place]) == 0
	}
}

_types_of_fields(schema) := {[path, value] |
	walk(schema.properties.spec, [path, value])
	path[count(path) - 1] == "type"
	is_string(value)
}

_values_of_fields(schema) := {path: {value | some value in values} |
	walk(schema.properties.spec, [path, values])
	path[count(path) - 1] == "enum"
	is_array(values)
}

# METADATA
# description: |
#   What is wrong with the version that a policy of a kind is written in, `{reason, message}` (semantics K7). An API server refuses a
#   version that is not served, and converts others to the one that the bridge reads; in a folder no program converts them.
version_problem(type, api_version) := {"reason": "VersionNotServed", "message": message} if {
	versions := get(type).versions
	not versions[keys.version(api_version)]
	message := sprintf("apiVersion %q is not served: the CRD serves %s", [api_version, concat(", ", sort(object.keys(versions)))])
} else := {"reason": "VersionDiffers", "message": message} if {
	versions := get(type).versions
	versions[keys.version(api_version)] == "Unlike"
	message := sprintf("apiVersion %q has other fields than %s, which the bridge reads: write the policy in that version", [
		api_version,
		[version | some version, "Read" in versions][0],
	])
}
