package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

// connection is what access.py says of one address.
type connection struct {
	Label string
	Rows  int
	Error string
}

// Spark's sentences.
const (
	noToken  = "No authentication token provided"
	badToken = "Invalid authentication token"
)

// TestTokensAndTLSDecideWhoConnects starts servers with a token, with a
// certificate of our own, and with both.
func TestTokensAndTLSDecideWhoConnects(t *testing.T) {
	secret := write(t, "token", "of-weir\n")
	cert, key := certificate(t)
	t.Setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", cert)
	tests := []struct {
		name string
		args []string
		want map[string]string // parameters of the address: part of the error, "" when it connects
	}{
		{"token", []string{"--token-file", secret}, map[string]string{
			"token=of-weir": "", "token=other": badToken, "": noToken,
		}},
		{"tls", []string{"--tls-cert", cert, "--tls-key", key}, map[string]string{
			"use_ssl=true": "", // one without use_ssl tries again for minutes: see TestTLSAnswersNoPlaintext
		}},
		{"token and tls", []string{"--token-file", secret, "--tls-cert", cert, "--tls-key", key}, map[string]string{
			"use_ssl=true;token=of-weir": "", "use_ssl=true;token=other": badToken, "use_ssl=true": noToken,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testkit.Start(t, testkit.ServerOptions{Args: tt.args})
			status := exec.CommandContext(t.Context(), testkit.Binary(t), "status", "--dir", s.Dir)
			if out, err := status.CombinedOutput(); err != nil {
				t.Errorf("weir status: %v, %s", err, out)
			}
			sql := exec.CommandContext(t.Context(), testkit.Binary(t), "sql", "--dir", s.Dir, "--token-file", secret,
				"SELECT 6 * 7 AS n")
			if out, err := sql.CombinedOutput(); err != nil || !strings.Contains(string(out), "| 42|") {
				t.Errorf("weir sql: %v, %s", err, out)
			}
			var urls []string
			for parameters := range tt.want {
				host := strings.Replace(s.GRPC, "127.0.0.1", "localhost", 1)
				urls = append(urls, parameters+"@sc://"+host+"/;"+parameters)
			}
			for _, c := range play[connection](t, s, "access.py", urls...) {
				want := tt.want[c.Label]
				if connected := c.Rows == 3; connected != (want == "") || !strings.Contains(c.Error, want) {
					t.Errorf("%q: %d rows, error %q, want %q", c.Label, c.Rows, c.Error, want)
				}
			}
		})
	}
}

// TestTLSAnswersNoPlaintext opens HTTP/2 without TLS, as a client without
// use_ssl does, and reads no frame of HTTP/2 back.
func TestTLSAnswersNoPlaintext(t *testing.T) {
	cert, key := certificate(t)
	s := testkit.Start(t, testkit.ServerOptions{Args: []string{"--tls-cert", cert, "--tls-key", key}})
	c, err := net.Dial("tcp", s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const preface, settings = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := c.Write([]byte(preface + settings)); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(c) // ended by the server, by a reset or in order
	const alert = 21           // the record type of a TLS alert
	if len(answer) > 0 && answer[0] != alert {
		t.Errorf("a plaintext preface is answered by % x, want a TLS alert or nothing", answer)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// certificate makes a certificate for localhost that signs itself.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return write(t, "cert.pem", block("CERTIFICATE", cert)), write(t, "key.pem", block("PRIVATE KEY", secret))
}
