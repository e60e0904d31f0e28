package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
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
			"use_ssl=true": "", "": "UNAVAILABLE",
		}},
		{"token and tls", []string{"--token-file", secret, "--tls-cert", cert, "--tls-key", key}, map[string]string{
			"use_ssl=true;token=of-weir": "", "use_ssl=true;token=other": badToken, "use_ssl=true": noToken,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testkit.Start(t, testkit.ServerOptions{Args: tt.args})
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
