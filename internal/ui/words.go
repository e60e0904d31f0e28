package ui

import (
	"strings"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// look is how a state is shown: its word, the tone of its colour.
type look struct{ word, tone string }

// looks are in the order of states, worst first; the words of words.js.
var looks = map[health.State]look{
	health.Failed: {"Failed", "bad"}, health.Stalled: {"Stalled", "bad"}, health.Breach: {"Too late", "bad"},
	health.Behind: {"Behind", "warn"}, health.Lagging: {"Lagging", "warn"},
	health.CatchingUp: {"Catching up", "info"}, health.Restarting: {"Restarting", "info"},
	health.Starting: {"Starting", "info"},
	health.Healthy:  {"Healthy", "good"}, health.Idle: {"Idle", "calm"}, health.Stopped: {"Stopped", "calm"},
}

// stateOrder is the order of states in lists.
var stateOrder = [...]health.State{
	health.Failed, health.Stalled, health.Breach, health.Behind, health.Lagging, health.CatchingUp,
	health.Restarting, health.Starting, health.Healthy, health.Idle, health.Stopped,
}

// letters stand for states in a strip; '.' is no data.
var letters = map[health.State]byte{
	health.Failed: 'f', health.Stalled: 's', health.Breach: 'x', health.Behind: 'b', health.Lagging: 'l',
	health.CatchingUp: 'c', health.Restarting: 'r',
	health.Starting: 't', health.Healthy: 'h', health.Idle: 'i', health.Stopped: 'o',
}

// stateOf is the state that a letter of a strip stands for, "" for none.
func stateOf(letter rune) health.State {
	for s, l := range letters {
		if rune(l) == letter {
			return s
		}
	}
	return ""
}

// lasting says what a query in a state has been doing.
var lasting = map[health.State]string{
	health.Failed: "has been down", health.Stalled: "has not moved", health.Breach: "has been too late",
	health.Behind: "has been falling behind", health.Lagging: "has lagged",
	health.Restarting: "has been restarting",
}

// phaseWords are the phases of a batch as tables and, shorter, legends call them.
var phaseWords = [health.PhaseCount]struct{ long, short string }{
	health.LatestOffset: {"get offsets", "offsets"}, health.QueryPlanning: {"plan", "plan"},
	health.Read: {"read", "read"}, health.Compute: {"compute", "compute"},
	health.StateCommit: {"state commit", "state"}, health.SinkWrite: {"sink write", "sink"},
	health.LogCommit: {"log commit", "log"},
}

// phaseWord is the word of a phase by its key in the API.
func phaseWord(key string) string {
	for p := range health.PhaseCount {
		if p.String() == key {
			return phaseWords[p].long
		}
	}
	return key
}

// keyed cuts a line of escaped JSON into what stands before a key, the key and the
// rest; without a key all is before.
func keyed(line string) (before, key, after string) {
	const quote = "&quot;"
	at := len(line) - len(strings.TrimLeft(line, " "))
	end := strings.Index(line, quote+":")
	if !strings.HasPrefix(line[at:], quote) || end < 0 {
		return line, "", ""
	}
	return line[:at], line[at : end+len(quote)], line[end+len(quote):]
}
