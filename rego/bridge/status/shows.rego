package bridge.status

# METADATA
# description: |
#   An object has a condition of one of these types, in its status, a listener's or a route's for a parent, or an
#   annotation of that name.
shows_any(obj, types) if {
	some condition in obj.status.conditions
	condition.type in types
} else if {
	some listener in obj.status.listeners
	some condition in listener.conditions
	condition.type in types
} else if {
	some parent in obj.status.parents
	some condition in parent.conditions
	condition.type in types
} else if {
	some name, _ in obj.metadata.annotations
	name in types
}
