// Package alert tells people of queries that need one. Rules are conditions over
// the signals of health: shipped ones, and those of a file that a user writes.
//
// Alerts evaluates every rule for every query once a second, off the path of
// batches, and keeps what is pending, firing and resolved. What changes goes, grouped,
// to notifiers; a kind of notifier is a file here and a line in kinds. A signal is a
// line in signals.
//
// Rules, quoted elsewhere by name:
//
//	A1  No batch and no rule waits for a notifier: each has a bounded queue and a
//	    goroutine. What it cannot deliver is counted and visible.
//	A2  What is not known is neither true nor false. It begins no alert, and it ends
//	    none while the query runs.
//	A3  Secrets come from the file, from other files or from the environment, and go
//	    to their receiver only: not to logs, errors, pages or the API.
//	A4  A file that is wrong changes nothing: what was in force stays, and it is said.
//	A5  A run that had ended before anybody looked is no news.
//	A6  Addresses come from the file only. Link-local ones are refused, a name is
//	    resolved once for each connection, redirects are not followed.
//
// Bounds: mostRules rules, mostNotifiers notifiers, mostSilences silences, keptPast
// resolved alerts, mostAlerts live ones, queued messages for each notifier, each tried
// for at most giveUpAfter.
//
// Goroutines: one that evaluates and one for each notifier, all ended by Close; those
// of notifiers that a reload leaves behind end by themselves after drainFor.
// Locks: Alerts.mu, then those of queries; none is held during input or output.
package alert
