# Tells the parameters that it was given.
package scenarios.match_any

violation contains {"msg": json.marshal(input.parameters)}
