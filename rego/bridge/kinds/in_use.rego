package bridge.kinds

import data.bridge.lookup

# METADATA
# description: |
#   The policy kinds that queries evaluate: without kinds of shipped presets that have no policies, because most
#   clusters lack most vendors.
in_use := names - (object.keys(sets.presets) - lookup.types)
