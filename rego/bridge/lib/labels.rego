# METADATA
# title: Labels
# description: Label selectors of Kubernetes.
package bridge.lib.labels

# A Kubernetes LabelSelector selects these labels; an empty one selects everything.
selects(selector, labels) if {
	object.subset(labels, object.get(selector, "matchLabels", {}))
	every expression in object.get(selector, "matchExpressions", []) {
		_holds(expression.operator, expression, labels)
	}
}

_holds("In", expression, labels) if labels[expression.key] in expression.values
_holds("NotIn", expression, labels) if not object.get(labels, expression.key, null) in expression.values
_holds("Exists", expression, labels) if expression.key in object.keys(labels)
_holds("DoesNotExist", expression, labels) if not expression.key in object.keys(labels)
