package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	// askLimit is how long a server may take to answer.
	askLimit = 5 * time.Second
	// mostAnswered is how large an answer may be, in bytes.
	mostAnswered = 64 << 20
)

// asked says which server is asked.
type asked struct{ dir, http string }

func (a *asked) add(c *cobra.Command) {
	c.Flags().StringVar(&a.dir, "dir", "weir-data", "ask the server of the data directory `DIR`")
	c.Flags().StringVar(&a.http, "http", "", "ask the server, or weir fleet, at `HOST:PORT` instead")
}

// addresses is where the server answers HTTP, with what its certificate is known by.
func (a *asked) addresses() (addresses, error) {
	if secure, ok := strings.CutPrefix(a.http, "https://"); ok {
		return addresses{HTTP: strings.TrimSuffix(secure, "/"), secure: true}, nil
	}
	if a.http != "" {
		return addresses{HTTP: strings.TrimSuffix(strings.TrimPrefix(a.http, "http://"), "/")}, nil
	}
	file := filepath.Join(a.dir, addressFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return addresses{}, fmt.Errorf("no server runs on %s: "+
			"start weir serve or weir run there, or name another --dir", a.dir)
	}
	if err != nil {
		return addresses{}, err
	}
	var at addresses
	if err := json.Unmarshal(data, &at); err != nil || at.HTTP == "" {
		return addresses{}, fmt.Errorf("%s says no address", file)
	}
	return at, nil
}

// A statusError is an answer of the server that is not the one asked for.
type statusError struct {
	address, status, body string
	code                  int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server at %s answers %s: %.200s", e.address, e.status, e.body)
}

// ask asks the server's API; body is JSON, nil for none. With a body it shows the word
// that changes need.
func (a *asked) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	at, err := a.addresses()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if method == http.MethodGet {
		return at.ask(ctx, method, path, body, "")
	}
	answer, err := at.ask(ctx, http.MethodGet, "/api/v1/csrf", nil, "")
	if err != nil {
		return nil, err
	}
	var word struct{ CSRF string }
	if err := json.Unmarshal(answer, &word); err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", at.HTTP, err)
	}
	return at.ask(ctx, method, path, body, word.CSRF)
}

func (at *addresses) ask(ctx context.Context, method, path string, body []byte, csrf string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, at.pages()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if csrf != "" {
		r.Header.Set("X-Weir-Csrf", csrf)
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := at.client().Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) && at.PID != 0 {
		return nil, fmt.Errorf("the server (pid %d) has ended without a word, or was killed: "+
			"nothing answers at %s any more", at.PID, at.HTTP)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", at.HTTP, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswered))
	if err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", at.HTTP, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, &statusError{at.HTTP, answer.Status, string(data), answer.StatusCode}
	}
	return data, nil
}

// pages is where people find the pages.
func (at *addresses) pages() string {
	if at.secure || at.CertSHA256 != "" {
		return "https://" + reachable(at.HTTP)
	}
	return "http://" + reachable(at.HTTP)
}

// reachable is an address to go to instead of one that stands for all of a machine.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	return net.JoinHostPort("localhost", port)
}

func (at *addresses) client() *http.Client {
	known := at.trust()
	if known == nil {
		return http.DefaultClient
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: known}}
}

// trust takes the certificate that the server wrote down, whatever name is in it and
// whoever signed it: the file is in a directory of the server's user alone. Nil where
// there is none.
func (at *addresses) trust() *tls.Config {
	if at.CertSHA256 == "" {
		return nil
	}
	known := func(certificates [][]byte, _ [][]*x509.Certificate) error {
		if len(certificates) > 0 &&
			subtle.ConstantTimeCompare([]byte(certificateSum(certificates[0])), []byte(at.CertSHA256)) == 1 {
			return nil
		}
		return errors.New("its certificate is not the one of " + addressFile)
	}
	return &tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: known, MinVersion: tls.VersionTLS12}
}

// certificateSum is what a certificate is known by.
func certificateSum(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}
