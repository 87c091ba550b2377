package bridge.merge

# METADATA
# description: |
#   GEP-713, "Merge strategy: Atomic overrides", f(established, challenger) = established, whole.
step("AtomicOverrides", established, _) := established
