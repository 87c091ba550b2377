# Answers of another form than Gatekeeper's.
package testing.crooked

violation := input.parameters.answer
