package bridge.lookup

# METADATA
# description: |
#   The creation time of an object in nanoseconds since 1970. An object without a valid creationTimestamp, as in
#   manifests, is younger than all objects that have one.
age(key) := age_of(get(key))

# METADATA
# description: The same for an object.
age_of(obj) := time.parse_rfc3339_ns(obj.metadata.creationTimestamp) if {
	true
} else := 9223372036854775807
