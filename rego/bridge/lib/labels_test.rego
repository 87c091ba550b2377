package bridge.lib.labels_test

import data.bridge.lib.labels

_labels := {"team": "shop", "tier": "web"}

test_label_selectors_select_as_kubernetes_does if {
	every row in [
		[{}, true],
		[{"matchLabels": {"team": "shop"}}, true],
		[{"matchLabels": {"team": "blog"}}, false],
		[{"matchLabels": {"team": "shop", "zone": "a"}}, false],
		[{"matchExpressions": [{"key": "team", "operator": "In", "values": ["shop", "blog"]}]}, true],
		[{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}, false],
		[{"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["shop"]}]}, false],
		[{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, true],
		[{"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, true],
		[{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, false],
		[{"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, true],
		[{"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, false],
		[{"matchExpressions": [{"key": "tier", "operator": "Like"}]}, false],
		[{"matchLabels": {"team": "shop"}, "matchExpressions": [{"key": "zone", "operator": "Exists"}]}, false],
	] {
		[selector, wanted] := row
		_selects(selector) == wanted
	}
}

_selects(selector) if {
	labels.selects(selector, _labels)
} else := false
