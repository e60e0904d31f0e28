package ui

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// number is a JSON number; what is not known is null, never 0. num makes them, so that
// pages and their script see the same digits.
type number float64

// num is a number of at most four significant digits.
func num(x float64) number {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return unknown()
	case math.Abs(x) >= 1e4 || x == math.Trunc(x):
		return number(math.Round(x))
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil { // it was written a moment ago
		panic(err)
	}
	return number(rounded)
}

// MarshalJSON writes the number or null.
func (n number) MarshalJSON() ([]byte, error) {
	if !isKnown(n) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}

// isKnown tells whether there is a number.
func isKnown(n number) bool { return n == n }

// milliseconds is a time in seconds as whole milliseconds.
func milliseconds(seconds float64) number { return num(math.Round(seconds * 1000)) }

// fineMilliseconds is a time in seconds as milliseconds with what is behind the point.
func fineMilliseconds(seconds float64) number { return num(seconds * 1000) }

// instant is a Unix time in milliseconds, null for the zero time.
type instant time.Time

// MarshalJSON writes the instant or null.
func (t instant) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, time.Time(t).UnixMilli(), 10), nil
}

// optional is a text, null when it is empty.
type optional string

// MarshalJSON writes the text or null.
func (s optional) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(s))
}

func unknown() number { return number(math.NaN()) }

// answer writes a body as JSON.
func answer(w http.ResponseWriter, body any) { writeJSON(w, mustJSON(body)) }

// mustJSON is for what cannot fail to be written.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// apiError is the body of an answer that is no answer.
type apiError struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write(mustJSON(apiError{why}))
}
