package ui

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// number is a JSON number with at most four significant digits; what is not known
// is null, never 0.
type number float64

// MarshalJSON writes the number or null.
func (n number) MarshalJSON() ([]byte, error) {
	x := float64(n)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return nil, err
	}
	if math.Abs(x) >= 1e4 {
		rounded = math.Round(x)
	}
	return strconv.AppendFloat(nil, rounded, 'f', -1, 64), nil
}

// milliseconds is a time in seconds as whole milliseconds.
func milliseconds(seconds float64) number { return number(math.Round(seconds * 1000)) }

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
func answer(w http.ResponseWriter, body any) {
	data, err := json.Marshal(body)
	if err != nil { // nothing here can fail to be written
		panic(err)
	}
	writeJSON(w, data)
}

// apiError is the body of an answer that is no answer.
type apiError struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, code int, why string) {
	data, err := json.Marshal(apiError{why})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write(data)
}
