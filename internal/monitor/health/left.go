package health

import (
	"strings"
	"time"
)

// LeftScore is how much a query needs a person that ran when its server ended and was not
// started again: less than one that is too late, more than one that lags.
const LeftScore = 70

// LeftCause is what to say of such a query. how says what became of its server: "the
// server ended while it ran".
func LeftCause(how string, at time.Time) Cause {
	const whileItRan = " while it ran"
	if !strings.HasSuffix(how, whileItRan) {
		how += whileItRan
	}
	said := strings.ToUpper(how[:1]) + how[1:] + ", at " + at.UTC().Format("2006-01-02 15:04") + nbsp +
		"UTC; its program has not started it again"
	return Cause{
		Sentence: said + ".", Reason: said,
		Why: []string{"Nothing but its program starts a query again."},
		Todo: []string{"Start the program again: with the same checkpoint the query goes on behind its last" +
			" committed batch. Or dismiss it here if it is not wanted any more."},
		EtaWord: "When it is started again",
	}
}
