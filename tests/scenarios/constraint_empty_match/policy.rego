# Tells the parameters that it was given.
package scenarios.empty_match

violation contains {"msg": json.marshal(input.parameters)}
