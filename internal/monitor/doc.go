// Package monitor keeps what is known about streaming queries: the progress of
// their triggers, their state, and the events that listeners receive.
//
// It knows no engine. The engine registers each run with a Registry and from
// then on talks to its Query only: Activate, SetStatus, Record, Idle,
// Terminate. The Query computes what Spark derives (rates, identity, idle
// entries), keeps the recent entries and posts events to the Bus of the run's
// session. Readers (listener streams, the HTTP API, pages) take snapshots.
//
// A Progress is rendered in two forms, both as Apache Spark 4.3 writes them:
// the event form, which listeners parse, and the command form, which
// lastProgress and recentProgress answer over Connect. The command form also
// carries the three totals that Spark leaves out there.
//
// Rules, quoted elsewhere by name:
//
//	M1  A recorded Progress never changes; readers share it without copying.
//	M2  Posting never blocks, whatever the listeners do.
//	M3  Events of one run reach each listener in the order they were posted.
//	M4  Started and terminated events are never dropped. A listener with more
//	    than QueueLimit waiting events loses progress and idle events, oldest
//	    but one first, per run: the newest always arrives. Each loss is counted.
//	M5  A closed subscription delivers nothing more, not even what was queued.
//	M6  Terminate returns after every live listener took the terminated event,
//	    or after TakeLimit.
//	M7  The last progress is always an element of the recent ones.
//
// What functions of a run print is kept in its Output.
//
// Bounds: QueueLimit events a subscription (plus the undroppable ones), OutputLines
// and OutputBytes of an Output, TakeLimit for M6, HoldLimit and holdEvents for events held back until a
// start was answered, EndedLimit finished runs in a Registry.
//
// Clock: every instant is passed in. Timers serve TakeLimit and HoldLimit.
//
// Goroutines: none that live on; the timer that ends a hold is stopped by
// Announce. Locks: watched.mu, then past.mu; Query.mu, then Bus.mu, then Subscription.mu; none is held
// while something waits. Registry.mu is never held together with Query.mu.
// Output.mu is held for field access only.
package monitor
