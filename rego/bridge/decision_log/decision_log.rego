# METADATA
# scope: package
# description: |
#   What OPA leaves out of its decision log, by a ConfigMap's package `system.log`, which the bridge loads as
#   `bridge.system.log`, and by a file's `system.log`. OPA evaluates one document only, and a mask must never be
#   without effect: it hides Secrets.
# related_resources:
#   - https://www.openpolicyagent.org/docs/management-decision-logs#masking-sensitive-data
package bridge.decision_log

# METADATA
# description: The fields to mask, as OPA's `mask_decision` has them.
# entrypoint: true
mask contains field if some field in data.bridge.system.log.mask

mask contains field if some field in data.system.log.mask

# METADATA
# description: Whether to leave out the decision, as OPA's `drop_decision`.
# entrypoint: true
drop if data.bridge.system.log.drop

drop if data.system.log.drop
