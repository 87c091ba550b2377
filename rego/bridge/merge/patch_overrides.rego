package bridge.merge

# METADATA
# description: |
#   GEP-713, "Merge strategy: Patch overrides",
#   f(established, challenger) = rfc7386(target = challenger, patch = established).
step("PatchOverrides", established, challenger) := patched(challenger, established)
