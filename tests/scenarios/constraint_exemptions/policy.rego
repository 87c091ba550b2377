# Violated by each object.
package scenarios.exempt

violation contains {"msg": "no"}
