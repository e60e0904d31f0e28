package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestSettingsThatAreRefused(t *testing.T) {
	tests := []struct {
		name, value string
		producer    bool
		want        string // "" when it is taken
	}{
		{"receive.buffer.bytes", "-9", false,
			"Invalid value -9 for configuration receive.buffer.bytes: Value must be at least -1"},
		{"fetch.max.bytes", "x", false, "Invalid value x for configuration fetch.max.bytes: Not a number"},
		{"isolation.level", "READ_COMMITTED", false, ""},
		{"isolation.level", "serializable", false, "must be one of: read_committed, read_uncommitted"},
		{"max.poll.records", "x", false, ""},
		{"no.such.setting", "1", false, ""},
		{"acks", "several", true, "Invalid value several for configuration acks"},
		{"acks", "several", false, ""},
		{"compression.type", "zip", true, "configuration compression.type"},
		{"linger.ms", "-1", true, "Value must be at least 0"},
		{"sasl.mechanism", "GSSAPI", false, ""}, // without a protocol that uses it
		{"security.protocol", "TLS", false, "configuration security.protocol"},
		{"bootstrap.servers", "localhost", false, "Invalid url in bootstrap.servers: localhost"},
		{"bootstrap.servers", "a:1,localhost", false, "Invalid url in bootstrap.servers: localhost"},
		{"bootstrap.servers", "localhost:", false, "Invalid url in bootstrap.servers: localhost:"},
		{"bootstrap.servers", ":9092", false, "Invalid url in bootstrap.servers: :9092"},
		{"bootstrap.servers", "http://localhost:9092", false, "Invalid url in bootstrap.servers: http"},
		{"bootstrap.servers", "localhost:x", false, "Invalid port in bootstrap.servers: localhost:x"},
		{"bootstrap.servers", "localhost:99999", false, "Invalid port in bootstrap.servers: localhost:99999"},
		{"bootstrap.servers", "[::1]:9092, b:1,", false, ""},
		{"bootstrap.servers", " ,", false, "No server is named"},
		{"security.protocol", "SASL_PLAINTEXT", false, "sasl.mechanism=GSSAPI is not supported"},
	}
	for _, test := range tests {
		c := Config{Settings: map[string]string{"bootstrap.servers": "localhost:1", test.name: test.value}}
		var err error
		if test.producer {
			err = c.CheckProducer()
		} else {
			_, err = c.options()
		}
		if test.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s=%s: got %v, want %q", test.name, test.value, err, test.want)
		}
	}
}

func TestPasswordsAreReadAndNotShown(t *testing.T) {
	login := func(text string) (string, string, error) {
		return Config{Settings: map[string]string{"sasl.jaas.config": text}}.login()
	}
	const module = "org.apache.kafka.common.security.plain.PlainLoginModule required "
	for text, want := range map[string][2]string{
		module + `username="u" password="p w;\"q\"";`: {"u", `p w;"q"`},
		module + `username=u password='p';`:           {"u", "p"},
		"x required\n  password=p\n  username=\"u\";": {"u", "p"},
	} {
		if user, password, err := login(text); err != nil || user != want[0] || password != want[1] {
			t.Errorf("%s: %q %q (%v)", text, user, password, err)
		}
	}
	_, _, err := login(module + `username="u" passwrd="secret";`)
	var config *ConfigError
	if !errors.As(err, &config) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// certificate is one for 127.0.0.1 that signs itself, as PEM and for a server.
func certificate(t *testing.T, names ...string) (string, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: names, IsCA: true, BasicConstraintsValid: true,
	}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return text, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestConnectionsAreSecured(t *testing.T) {
	trusted, server := certificate(t)
	named, otherServer := certificate(t, "elsewhere.example")
	other, _ := certificate(t)
	const login = `x required username="u" password="p";`
	tests := []struct {
		name   string
		server tls.Certificate
		more   []string
		ok     bool
	}{
		{"trusted", server, []string{"ssl.truststore.certificates", trusted}, true},
		{"not trusted", server, []string{"ssl.truststore.certificates", other}, false},
		{"another name", otherServer, []string{"ssl.truststore.certificates", named}, false},
		{"any name", otherServer, []string{"ssl.truststore.certificates", named,
			"ssl.endpoint.identification.algorithm", ""}, true},
		{"any name, not trusted", otherServer, []string{"ssl.truststore.certificates", other,
			"ssl.endpoint.identification.algorithm", ""}, false},
		{"wrong password", server, []string{"ssl.truststore.certificates", trusted,
			"sasl.jaas.config", strings.Replace(login, `"p"`, `"q"`, 1)}, false},
		{"SCRAM", server, []string{"ssl.truststore.certificates", trusted, "sasl.mechanism", "SCRAM-SHA-512"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.EnableSASL(),
				kfake.Superuser("PLAIN", "u", "p"), kfake.Superuser("SCRAM-SHA-512", "u", "p"),
				kfake.TLS(&tls.Config{Certificates: []tls.Certificate{test.server}}))
			must(t, err)
			defer b.Close()
			settings := append([]string{"security.protocol", "SASL_SSL", "sasl.mechanism", "PLAIN",
				"sasl.jaas.config", login}, test.more...)
			conf := (&broker{t: t, Cluster: b}).config(settings...)
			c, err := Open(conf, Patience{})
			must(t, err)
			defer c.Close()
			if found, err := c.Topics(t.Context(), []string{"t"}); test.ok != (err == nil && len(found) == 1) {
				t.Errorf("got %v (%v)", found, err)
			}
		})
	}
}
