package bridge.kinds

import data.bridge.lookup

# METADATA
# description: |
#   The policy kinds that queries evaluate: without kinds of shipped presets that have no policies, because most
#   clusters lack most vendors.
in_use := names - (_of_presets - lookup.types)

# Kinds that no PolicyKind describes, only a preset.
_of_presets := {type |
	some type, description in _descriptions
	"Preset" in description.layers
	not "PolicyKind" in description.layers
}

_descriptions := data.kinds if not has_changes

_descriptions := active_kinds if has_changes
