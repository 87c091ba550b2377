# Tells what a policy is given.
package testing.seen

violation contains {"msg": "seen", "details": input}
