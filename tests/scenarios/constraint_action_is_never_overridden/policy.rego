# Tells the parameters that it was given.
package scenarios.action

violation contains {"msg": json.marshal(input.parameters)}
