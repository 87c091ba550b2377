package bridge.merge

# METADATA
# description: |
#   None: the established one wins on one target, where attachment already refused the younger (Conflicted). Two that
#   meet here stand on an object and on its section, and the one that names the section wins there (semantics C2).
step("None", _, challenger) := challenger
