package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"unicode"

	"github.com/weir-dev/weir/internal/peer"
	"github.com/weir-dev/weir/internal/sparkconnect"
)

// access decides who may connect. Without flags that is the user who started
// weir, over loopback.
type access struct {
	connect sparkconnect.ListenOptions
	hosts   []string // names of the HTTP address besides loopback
	guard   func(net.Listener) net.Listener
	private bool // pages and API only for the user who started weir
	open    bool // whoever reaches the ports may see what is that user's alone otherwise
}

func newAccess(f serverFlags, grpcAddress string, log *slog.Logger) (*access, error) {
	a := &access{guard: func(l net.Listener) net.Listener { return l }}
	var err error
	if a.connect.Token, err = readToken(f.token); err != nil {
		return nil, err
	}
	if a.connect.TLS, err = loadTLS(f.tlsCert, f.tlsKey); err != nil {
		return nil, err
	}
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if strings.ContainsFunc(a.connect.Token, odd) {
		log.Warn("the token has other characters than letters and digits, which addresses of clients "+
			"(sc://…;token=…) may not carry", "file", f.token)
	}
	for _, address := range []string{grpcAddress, f.http} {
		if err := a.checkReach(f, address, log); err != nil {
			return nil, err
		}
	}
	if host, _, err := net.SplitHostPort(f.http); err == nil {
		a.hosts = []string{host}
		// Without a token the user has said --insecure: any name is as good.
		if ip := net.ParseIP(host); a.connect.Token == "" && (host == "" || ip != nil && ip.IsUnspecified()) {
			a.hosts = []string{"*"}
		}
	}
	if isLoopback(grpcAddress) && !f.allowOthers && a.connect.Token == "" {
		a.guard = func(l net.Listener) net.Listener { return peer.Own(l, log) }
	}
	a.private, a.open = f.privateHTTP, f.allowOthers || f.insecure
	return a, nil
}

// overTLS listens by TLS, if there is a certificate.
func (a *access) overTLS(l net.Listener) net.Listener {
	if a.connect.TLS == nil {
		return l
	}
	return tls.NewListener(l, a.connect.TLS)
}

// certificate is what the server shows, nil without TLS.
func (a *access) certificate() []byte {
	if a.connect.TLS == nil {
		return nil
	}
	return a.connect.TLS.Certificates[0].Certificate[0]
}

// checkReach refuses an address that other machines reach unless a token and
// TLS protect it, or the user says that nothing has to.
func (a *access) checkReach(f serverFlags, address string, log *slog.Logger) error {
	if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
		return fmt.Errorf("%s is no address to listen on: write it as HOST:PORT, for instance 127.0.0.1:0", address)
	}
	if address == "" || isLoopback(address) || a.connect.Token != "" && a.connect.TLS != nil {
		return nil
	}
	if f.insecure {
		log.Warn("listening beyond this machine without token and TLS: whoever reaches the port runs code as you",
			"address", address)
		return nil
	}
	return fmt.Errorf("%s can be reached from other machines: "+
		"give --token-file, --tls-cert and --tls-key, or --insecure", address)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", fmt.Errorf("the token file %s is empty", file)
	}
	return token, nil
}

func loadTLS(cert, key string) (*tls.Config, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, errors.New("--tls-cert and --tls-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("load the TLS certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}, nil
}
