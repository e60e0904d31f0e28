package weir

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestMessagesAreReadWholeOrNotAtAll(t *testing.T) {
	for in, want := range map[string]string{
		"\x00\x00\x00\x00\x03abc": "abc", "\x00\x00\x00\x00\x00": "", "": "EOF", "\x00\x00": "unexpected EOF",
		"\x00\x00\x00\x00\x03ab": "unexpected EOF", "\x01\x00\x00\x00\x01a": "it is compressed",
		"\x00\xff\xff\xff\xff": "a message has 4294967295 bytes", "\x00\x07\xff\xff\xffshort": "unexpected EOF",
	} {
		message, err := nextMessage(strings.NewReader(in))
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && string(message) != want {
			t.Errorf("%q: %q, %v, want %q", in, message, err, want)
		}
	}
	two := bytes.NewBufferString("\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x01b")
	for _, want := range []string{"a", "b"} {
		if message, err := nextMessage(two); err != nil || string(message) != want {
			t.Errorf("%q, %v", message, err)
		}
	}
	if _, err := nextMessage(two); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestOutcomesOfCalls(t *testing.T) {
	for _, c := range []struct {
		header, trailer http.Header
		want            string
	}{
		{nil, http.Header{"Grpc-Status": {"0"}}, ""},
		{nil, http.Header{"Grpc-Status": {"13"}, "Grpc-Message": {"[X] %C3%A4 %25 wrong"}}, "[X] ä % wrong"},
		{nil, http.Header{"Grpc-Status": {"13"}, "Grpc-Message": {"50% off"}}, "50% off"},
		{nil, http.Header{"Grpc-Status": {"8"}}, "the server refused with status 8"},
		{http.Header{"Grpc-Status": {"16"}, "Grpc-Message": {"none was shown"}}, nil, "the token is refused: none was shown"},
		{nil, nil, "the answer broke off"},
	} {
		got := ""
		if err := outcome(&http.Response{Header: c.header, Trailer: c.trailer}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v %v: %q, want %q", c.header, c.trailer, got, c.want)
		}
	}
}
