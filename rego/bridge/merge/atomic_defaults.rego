package bridge.merge

# METADATA
# description: |
#   GEP-713, "Merge strategy: Atomic defaults", f(established, challenger) = challenger, whole.
step("AtomicDefaults", _, challenger) := challenger
