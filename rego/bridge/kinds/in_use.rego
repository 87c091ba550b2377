package bridge.kinds

import data.bridge.lookup

# METADATA
# description: |
#   The policy kinds that queries evaluate: without kinds of shipped presets that have no policies, because most
#   clusters lack most vendors.
in_use := names - (_preset_kinds - lookup.types)

_preset_kinds := {type | data.kinds[type].preset} if not has_changes

_preset_kinds := {type | active_kinds[type].preset} if has_changes
