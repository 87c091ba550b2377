package bridge.v1

import data.bridge.lib.keys
import data.bridge.status as reporting

# METADATA
# description: |
#   `traces`: everything that a bridge has written into each of `objects` (whole, with metadata.managedFields), by key;
#   an object without traces is absent. `former` are the policy kinds that it wrote for, `{group?, kind,
#   controllerName}`, and `manager` is its field manager. For the removal of all traces.
# entrypoint: true
traces := {key: found |
	some obj in input.objects
	key := keys.of(obj)
	found := reporting.traces(obj, input.former, input.manager)
	count(found) > 0
}
