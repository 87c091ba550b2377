package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   How the bridge reads objects in each served version of a CRD (semantics K7). `Read` is the version that the bridge reads. The
#   fields and enumerated values of a `Like` version are all in that version too, those of an `Unlike` version are not. Undefined
#   without a served version.
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
#   The problem with the version of a policy, `{reason, message}` (semantics K7). An API server rejects versions that it does not
#   serve, and converts others to the version that the bridge reads. In a folder no program converts them.
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
