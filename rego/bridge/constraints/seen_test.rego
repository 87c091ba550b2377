# Reports the input that a policy gets.
package testing.seen

violation contains {"msg": "seen", "details": input}
