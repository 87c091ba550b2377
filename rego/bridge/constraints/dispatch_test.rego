# What the bridge generates for the packages of admins, here for those of these tests.
package bridge.constraints.dispatch

policies := {"testing.labels", "testing.limits", "testing.crooked", "testing.forbidden", "testing.seen"}

violations["testing.labels"] := data.testing.labels.violation

violations["testing.forbidden"] := data.testing.forbidden.violation

violations["testing.limits"] := data.testing.limits.violation

violations["testing.crooked"] := data.testing.crooked.violation

violations["testing.seen"] := data.testing.seen.violation
