package bridge.merge

# METADATA
# description: |
#   GEP-713, "Merge strategy: Patch defaults",
#   f(established, challenger) = rfc7386(target = established, patch = challenger).
step("PatchDefaults", established, challenger) := patched(established, challenger)
