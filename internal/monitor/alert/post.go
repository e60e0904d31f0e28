package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// place is where messages are posted to.
type place struct {
	url     string
	headers [][2]string
	client  *http.Client
}

// newPlace checks an address and the headers that go with it.
func newPlace(n *node, address string) (*place, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, n.wrong("url is an address that begins with https:// or http://")
	}
	return &place{url: address, client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dial, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConns: 2, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// dial connects to the first address of a host that may be connected to (A6).
func dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	var failed error
	for _, ip := range found {
		if err := mayConnect(ip.Unmap()); err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// mayConnect refuses addresses at which clouds tell machines their secrets, and those
// that are nobody's.
func mayConnect(ip netip.Addr) error {
	if ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() ||
		ip == netip.MustParseAddr("fd00:ec2::254") || ip == netip.MustParseAddr("100.100.100.200") {
		return &refusedError{ip.String() + " is no address that messages are sent to"}
	}
	return nil
}

// host is the place without what may be secret.
func (p *place) host() string {
	u, err := url.Parse(p.url)
	if err != nil {
		return ""
	}
	return u.Host
}

// post sends a body and reads whether it was taken.
func (p *place) post(ctx context.Context, path string, body any) error {
	data, err := encode(body)
	if err != nil {
		return &refusedError{err.Error()}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, bytes.NewReader(data))
	if err != nil {
		return &refusedError{"the address cannot be used"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "weir")
	for _, h := range p.headers {
		r.Header.Set(h[0], h[1])
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 2048))
	return taken(answer, string(said))
}

// encode is JSON that keeps <, > and &, as receivers of texts want it.
func encode(body any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// withoutAddress takes the address out of an error, for it may hold a secret (A3).
func withoutAddress(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// taken tells what an answer means: a wrong request stays wrong, the rest may pass.
func taken(answer *http.Response, said string) error {
	code := answer.StatusCode
	text := fmt.Sprintf("the answer is %d %s", code, http.StatusText(code))
	if said = cut(strings.TrimSpace(said), 200); said != "" {
		text += ": " + said
	}
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &refusedError{text + "; redirects are not followed, write the address that they lead to"}
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			return errors.New(text)
		}
		return &laterError{text, time.Duration(seconds) * time.Second}
	case code >= 500 || code == http.StatusRequestTimeout:
		return errors.New(text)
	default:
		return &refusedError{text}
	}
}

// placeOf reads the keys url, headers and bearer.
func placeOf(s *secrets, n *node, what string, more ...string) (*place, error) {
	if err := n.only(what, append([]string{"url", "headers", "bearer"}, more...)...); err != nil {
		return nil, err
	}
	address, err := s.needed(n, what, "url")
	if err != nil {
		return nil, err
	}
	p, err := newPlace(n, address)
	if err != nil {
		return nil, err
	}
	headers := n.find("headers")
	if headers != nil && !headers.null {
		if err := headers.must(mapping, "headers"); err != nil {
			return nil, err
		}
		for _, h := range headers.pairs {
			value, err := s.of(headers, h.key)
			if err != nil {
				return nil, err
			}
			if strings.ContainsAny(h.key+value, "\r\n\x00") || !validHeader(h.key) {
				return nil, headers.wrong("%.80q is no header", h.key)
			}
			p.headers = append(p.headers, [2]string{h.key, value})
		}
	}
	token, err := s.of(n, "bearer")
	if token != "" {
		p.headers = append(p.headers, [2]string{"Authorization", "Bearer " + token})
	}
	return p, err
}

func validHeader(name string) bool {
	return name != "" && !slices.ContainsFunc([]byte(name), func(c byte) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
}
