# Tells the parameters that it was given.
package scenarios.profiles

violation contains {"msg": json.marshal(input.parameters)}
