package weir

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/proto"
)

const (
	service = "/spark.connect.SparkConnectService/"
	// largestAnswer is how large one message of an answer may be, as in PySpark.
	largestAnswer = 128 << 20
	// frameHead is what stands before each message: whether it is compressed, and its length.
	frameHead = 5
)

// wire speaks gRPC, as far as a client of this service needs it, over the HTTP/2 of the
// standard library: grpc-go's client would make the binary 600 kB larger.
type wire struct {
	base  string // scheme, host and port
	token string // "" shows none
	http  *http.Client
}

func newWire(base, token string) *wire {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &wire{base: base, token: token, http: &http.Client{
		Transport:     &http.Transport{Protocols: &protocols},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (w *wire) trust(known *tls.Config) { w.http.Transport.(*http.Transport).TLSClientConfig = known }

func (w *wire) close() { w.http.CloseIdleConnections() }

// call sends a request and gives each message of the answer to take.
func (w *wire) call(
	ctx context.Context, method string, request proto.Message, take func([]byte) error,
) error {
	data, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	body := make([]byte, frameHead, frameHead+len(data))
	binary.BigEndian.PutUint32(body[1:], uint32(len(data)))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+service+method,
		bytes.NewReader(append(body, data...)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/grpc+proto")
	r.Header.Set("Te", "trailers")
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	answer, err := w.http.Do(r)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err
		}
		return fmt.Errorf("ask %s: %w", w.base, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s: the answer is %s: no Spark Connect server is there", w.base, answer.Status)
	}
	for {
		message, err := nextMessage(answer.Body)
		if errors.Is(err, io.EOF) {
			return outcome(answer)
		}
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		if err := take(message); err != nil {
			return err
		}
	}
}

// nextMessage reads one message; io.EOF stands behind the last.
func nextMessage(from io.Reader) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, errors.New("it is compressed, which nobody asked for")
	case n > largestAnswer:
		return nil, fmt.Errorf("a message has %d bytes, more than %d", n, largestAnswer)
	}
	// It grows with what comes, not with what is announced.
	var message bytes.Buffer
	if _, err := io.CopyN(&message, from, int64(n)); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return message.Bytes(), nil
}

// ErrToken is what errors wrap when the server asks for a bearer token and got none, or
// another: WithToken shows one.
var ErrToken = errors.New("the token is refused")

// unauthenticated is gRPC's status code of that.
const unauthenticated = "16"

// outcome is the status behind an answer; an answer that is nothing else has it before.
func outcome(answer *http.Response) error {
	status, text := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if status == "" {
		status, text = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	switch status {
	case "0":
		return nil
	case "":
		return errors.New("the answer broke off")
	}
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	if text == "" {
		text = "the server refused with status " + status
	}
	if status == unauthenticated {
		return fmt.Errorf("%w: %s", ErrToken, text)
	}
	return errors.New(text)
}
