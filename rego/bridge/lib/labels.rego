# METADATA
# title: Labels
# description: Label selectors of Kubernetes.
package bridge.lib.labels

# A Kubernetes LabelSelector selects these labels; an empty one selects everything.
selects(selector, labels) if {
	every key, value in object.get(selector, "matchLabels", {}) {
		labels[key] == value
	}
	every expression in object.get(selector, "matchExpressions", []) {
		_holds(expression, labels)
	}
}

_holds(expression, labels) if {
	expression.operator == "In"
	labels[expression.key] in expression.values
}

_holds(expression, labels) if {
	expression.operator == "NotIn"
	not object.get(labels, expression.key, null) in expression.values
}

_holds(expression, labels) if {
	expression.operator == "Exists"
	expression.key in object.keys(labels)
}

_holds(expression, labels) if {
	expression.operator == "DoesNotExist"
	not expression.key in object.keys(labels)
}
