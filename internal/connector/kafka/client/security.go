package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security is how connections are encrypted and who connects.
func (c Config) security() ([]kgo.Opt, error) {
	var opts []kgo.Opt
	protocol := strings.ToUpper(strings.TrimSpace(c.Settings["security.protocol"]))
	if strings.HasSuffix(protocol, "SSL") {
		config, err := c.tls()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	if strings.HasPrefix(protocol, "SASL") {
		mechanism, err := c.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

func (c Config) mechanism() (sasl.Mechanism, error) {
	name := strings.ToUpper(strings.TrimSpace(c.Settings["sasl.mechanism"]))
	switch name {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	case "":
		return nil, &UnsupportedError{"sasl.mechanism", "GSSAPI", "It is the default; set PLAIN or SCRAM-SHA-512."}
	default:
		return nil, &UnsupportedError{"sasl.mechanism", name, "PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are."}
	}
	user, password, err := c.login()
	if err != nil {
		return nil, err
	}
	switch name {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	default:
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
}

var jaasEntry = regexp.MustCompile(`([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;"']+))`)

// login reads user and password out of sasl.jaas.config. The text of the
// setting is not shown in errors: it holds the password.
func (c Config) login() (user, password string, err error) {
	text := c.Settings["sasl.jaas.config"]
	found := map[string]string{}
	for _, m := range jaasEntry.FindAllStringSubmatch(text, -1) {
		value := strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2])
		found[strings.ToLower(m[1])] = value + m[3] + m[4]
	}
	user, known := found["username"]
	password, secret := found["password"]
	if !known || !secret {
		return "", "", &ConfigError{"sasl.jaas.config", "[hidden]", "username and password are expected in it"}
	}
	return user, password, nil
}

// tls is the encryption of the SSL protocols. Certificates are PEM, given in the
// settings themselves or as files.
func (c Config) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	trusted, err := c.pem("ssl.truststore")
	if err != nil {
		return nil, err
	}
	if trusted != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(trusted) {
			return nil, &ConfigError{"ssl.truststore.location", c.Settings["ssl.truststore.location"],
				"no PEM certificate is in it"}
		}
	}
	if err := c.identity(config); err != nil {
		return nil, err
	}
	check, set := c.Settings["ssl.endpoint.identification.algorithm"]
	if set && strings.TrimSpace(check) == "" {
		config.InsecureSkipVerify = true
		config.VerifyConnection = anyName(config.RootCAs)
	}
	return config, nil
}

// anyName checks the chain of certificates but not the name of the server.
func anyName(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("the broker showed no certificate")
		}
		between := x509.NewCertPool()
		for _, cert := range s.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		return err
	}
}

// identity is the client's own certificate.
func (c Config) identity(config *tls.Config) error {
	chain, key := c.Settings["ssl.keystore.certificate.chain"], c.Settings["ssl.keystore.key"]
	if chain == "" {
		both, err := c.pem("ssl.keystore")
		if err != nil || both == nil {
			return err
		}
		chain, key = string(both), string(both)
	}
	if c.Settings["ssl.key.password"] != "" {
		return &UnsupportedError{"ssl.key.password", "[hidden]",
			"Give the key without a password, readable by the owner only."}
	}
	cert, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		return &ConfigError{"ssl.keystore.key", "[hidden]", err.Error()}
	}
	config.Certificates = []tls.Certificate{cert}
	return nil
}

// pem is a store of certificates, nil when none is set.
func (c Config) pem(store string) ([]byte, error) {
	if text := c.Settings[store+".certificates"]; text != "" {
		return []byte(text), nil
	}
	location := c.Settings[store+".location"]
	if location == "" {
		return nil, nil
	}
	if kind := c.Settings[store+".type"]; !strings.EqualFold(kind, "PEM") {
		if kind == "" {
			kind = "JKS"
		}
		return nil, &UnsupportedError{store + ".type", kind,
			"Export the certificates as PEM and set " + store + ".type=PEM."}
	}
	data, err := c.ReadFile(location)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", store+".location", err)
	}
	return data, nil
}
