package sql

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/codec"
)

// What Spark 4.3.0 reads from the texts of triggers and casts.
func TestParseInterval(t *testing.T) {
	for text, want := range map[string]string{
		"10 seconds": "10 seconds", "1 minute 30 seconds": "1 minutes 30 seconds", "interval 5 minutes": "5 minutes",
		"INTERVAL\t5 MINUTES": "5 minutes", "-5 seconds": "-5 seconds", "- 5 seconds": "-5 seconds", "+5 seconds": "5 seconds",
		"1.5 seconds": "1.5 seconds", ".5 seconds": "0.5 seconds", "-.5 seconds": "-0.5 seconds", "1. seconds": "1 seconds",
		"1 year 2 months": "1 years 2 months", "1 week": "7 days", " 10  seconds ": "10 seconds",
		"1 second 1 second": "2 seconds", "1 microseconds": "0.000001 seconds", "3 month 1 day": "3 months 1 days",
		"1.999999999 seconds": "1.999999 seconds", "1 millisecond 1 microsecond": "0.001001 seconds",
		"9223372036854775807 microseconds": "2562047788 hours 54.775807 seconds", "178956970 years": "178956970 years",
	} {
		got, err := ParseInterval(text)
		if err != nil || string(codec.AppendInterval(nil, got)) != want {
			t.Errorf("%q: %s, %v", text, codec.AppendInterval(nil, got), err)
		}
	}
	tests := []struct{ text, reason, key, value string }{
		{"ten minutes", "UNRECOGNIZED_NUMBER", "number", "ten"},
		{"often", "UNRECOGNIZED_NUMBER", "number", "often"},
		{"'10' seconds", "UNRECOGNIZED_NUMBER", "number", "'10'"},
		{"1 hour 1 microsecond x", "UNRECOGNIZED_NUMBER", "number", "x"},
		{"\u00a01 day", "UNRECOGNIZED_NUMBER", "number", "\u00a01"},
		{"5", "MISSING_UNIT", "word", "5"},
		{"1 day 2", "MISSING_UNIT", "word", "2"},
		{"-5", "MISSING_UNIT", "word", "-5"},
		{"5 FOO", "INVALID_UNIT", "unit", "foo"},
		{"1 secondss", "INVALID_UNIT", "unit", "secondss"},
		{"1 nanosecond", "INVALID_UNIT", "unit", "nanosecond"},
		{"1 day-", "INVALID_UNIT", "unit", "day-"},
		{"1.5 minutes", "INVALID_FRACTION", "unit", "minutes"},
		{"1.5 milliseconds", "INVALID_FRACTION", "unit", "milliseconds"},
		{"10seconds", "INVALID_VALUE", "value", "10seconds"},
		{"--5 seconds", "INVALID_VALUE", "value", "--5"},
		{"1..5 seconds", "INVALID_VALUE", "value", "1..5"},
		{". seconds", "INVALID_VALUE", "value", "."},
		{"1.1234567891 seconds", "INVALID_PRECISION", "value", "1.1234567891"},
		{"1 day -", "MISSING_NUMBER", "word", "-"},
		{"intervals 5 minutes", "INVALID_PREFIX", "prefix", "intervals"},
		{"interval", "INPUT_IS_EMPTY", "input", "interval"},
		{"  ", "INPUT_IS_EMPTY", "input", "  "},
		{"99999999999 days", "ARITHMETIC_EXCEPTION", "input", "99999999999 days"},
		{"9223372036854775808 microseconds", "ARITHMETIC_EXCEPTION", "input", "9223372036854775808 microseconds"},
		{"153722867281 minutes", "ARITHMETIC_EXCEPTION", "input", "153722867281 minutes"},
	}
	for _, tt := range tests {
		_, err := ParseInterval(tt.text)
		e := planError(t, err)
		want := map[string]string{"input": tt.text, tt.key: tt.value}
		if e == nil || e.Condition != "INVALID_INTERVAL_FORMAT."+tt.reason || !cmp.Equal(e.Args, want) {
			t.Errorf("%q: %v %v", tt.text, err, e.Args)
		}
	}
}

// What Spark 4.3.0 takes for the delay of a watermark and the size of a window.
func TestParseDelay(t *testing.T) {
	for text, want := range map[string]string{
		"10 minutes": "10 minutes", " Interval 5 minutes": "5 minutes", "interval '10' seconds": "10 seconds",
		"interval '10 seconds'": "10 seconds", "1 month": "1 months", "-5 seconds": "-5 seconds",
	} {
		got, err := ParseDelay(text)
		if err != nil || string(codec.AppendInterval(nil, got)) != want {
			t.Errorf("%q: %s, %v", text, codec.AppendInterval(nil, got), err)
		}
	}
	for text, want := range map[string]string{
		"ten minutes": "'ten minutes'", "'10' seconds": `'\'10\' seconds'`, "interval": "'interval'", "5 foo": "'5 foo'", "": "''",
	} {
		_, err := ParseDelay(text)
		e := planError(t, err)
		if e == nil || e.Condition != "CANNOT_PARSE_INTERVAL" || e.Args["intervalString"] != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
