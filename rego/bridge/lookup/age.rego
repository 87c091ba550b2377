package bridge.lookup

# METADATA
# description: |
#   Nanoseconds since 1970 of an object's creation. One that has no creationTimestamp (or null, or no time: manifests
#   have all of these) is not created yet, so it is younger than all that are.
age(key) := age_of(get(key))

# METADATA
# description: The same of an object.
age_of(obj) := time.parse_rfc3339_ns(obj.metadata.creationTimestamp) if {
	true
} else := 9223372036854775807
