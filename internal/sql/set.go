package sql

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// zoneKey is the setting that SET TIME ZONE writes.
const zoneKey = "spark.sql.session.timeZone"

// set reads SET …, whose value is raw text up to the end or a semicolon.
func (p *parser) set() plan.Node {
	start := p.i
	p.skip(1)
	switch {
	case p.at("ROLE") && p.peek(1).kind != tokEnd && !p.atAnyAt(1, "=", "."):
		return p.hiveOnly(start, "SET ROLE")
	case p.ahead("TIME", "ZONE"):
		return p.setZone(start)
	case p.at("CATALOG") && (p.peek(1).isName() || p.peek(1).kind == tokString):
		return p.setCatalog()
	case p.atAny("VARIABLE", "VAR") && (p.peek(1).isName() || p.peek(1).word == "("):
		return p.refuseRest(start, "SET VARIABLE")
	}
	raw := p.rawRest(start)
	if raw == "" {
		return &plan.Set{}
	}
	if raw == "-v" {
		return &plan.Set{Verbose: true}
	}
	key, value, assigned := cutSetting(raw)
	if key == "" || strings.Contains(value, ";") {
		p.mistake(start, "INVALID_SET_SYNTAX", "SET takes a key, or key=value; put other keys in backquotes.")
		return none()
	}
	return &plan.Set{Key: key, Value: value, HasValue: assigned}
}

// rawRest is the text behind the first token, without semicolons at its end,
// and reads it.
func (p *parser) rawRest(start int) string {
	raw := strings.TrimSpace(p.text[p.toks[start].end:])
	trimmed := strings.TrimRight(raw, "; \t\r\n")
	for p.rest(); p.prev().word == ";"; {
		p.i--
	}
	return trimmed
}

// cutSetting takes key = value apart; key is "" when it is none.
func cutSetting(raw string) (key, value string, assigned bool) {
	if raw[0] == '`' {
		n := quotedName(raw)
		if n == 0 {
			return "", "", false
		}
		key = strings.ReplaceAll(raw[1:n-1], "``", "`")
		raw = strings.TrimSpace(raw[n:])
		if raw == "" {
			return key, "", false
		}
		value, assigned = strings.CutPrefix(raw, "=")
		if !assigned {
			return "", "", false
		}
	} else {
		key, value, assigned = strings.Cut(raw, "=")
		key = strings.TrimSpace(key)
		if strings.ContainsFunc(key, func(r rune) bool { return !settingRune(r) }) {
			return "", "", false
		}
	}
	value = strings.TrimSpace(value)
	if len(value) > 1 && value[0] == '`' && quotedName(value) == len(value) {
		value = strings.ReplaceAll(value[1:len(value)-1], "``", "`")
	}
	return key, value, assigned
}

// settingRune reports whether a key without backquotes may hold a character.
func settingRune(r rune) bool {
	return r < 0x80 && (letter(byte(r)) || digit(byte(r))) || strings.ContainsRune(`_\.:`, r)
}

// setZone reads SET TIME ZONE LOCAL | 'zone' | interval.
func (p *parser) setZone(start int) plan.Node {
	p.skip(2)
	s := &plan.Set{Key: zoneKey, HasValue: true, TimeZone: true}
	switch {
	case p.at("LOCAL"):
		p.skip(1)
		s.Value = "LOCAL"
	case p.cur().kind == tokString:
		s.Value = p.stringLit()
	case p.at("INTERVAL") && p.intervalAhead():
		own := p.i
		v, ok := intervalValue(p.intervalLiteral())
		seconds := v.Micros / 1_000_000
		if ok && (v.Months != 0 || v.Micros%1_000_000 != 0 || seconds > 18*3600 || seconds < -18*3600) {
			p.mistake(own, "INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE",
				"A time zone is at most 18 hours from UTC, in whole seconds.", "input", p.source(own))
		}
		s.Value = offsetText(int(seconds))
	default:
		p.rest()
	}
	if s.Value == "" || p.cur().kind != tokEnd && !p.at(";") {
		p.rest()
		p.mistake(start, "_LEGACY_ERROR_TEMP_0045", "SET TIME ZONE takes LOCAL, a zone in quotes or an interval.")
	}
	return s
}

// offsetText is a zone's offset as +01:00, with seconds if there are any.
func offsetText(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		text += fmt.Sprintf(":%02d", seconds%60)
	}
	return text
}

func (p *parser) setCatalog() plan.Node {
	p.skip(1)
	if p.cur().kind == tokString {
		return &plan.Use{Name: []string{p.stringLit()}, Catalog: true}
	}
	if p.ahead("IDENTIFIER", "(") {
		return &plan.Use{Name: p.identifierClause(), Catalog: true}
	}
	return &plan.Use{Name: []string{p.strictIdent()}, Catalog: true}
}

// reset reads RESET [key].
func (p *parser) reset() plan.Node {
	start := p.i
	raw := p.rawRest(start)
	if raw == "" {
		return &plan.Reset{}
	}
	key, _, assigned := cutSetting(raw)
	if key == "" || assigned {
		p.mistake(start, "INVALID_RESET_COMMAND_FORMAT", "RESET takes one key; put other keys in backquotes.")
		return none()
	}
	return &plan.Reset{Key: key}
}
