package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// encryptions are how the way to a mail server is protected.
var encryptions = []string{"starttls", "tls", "off"}

var emailKind = notifierKind{name: "email", read: readEmail}

// email sends a plain text by SMTP.
type email struct {
	server, host   string
	from           *mail.Address
	to             []*mail.Address
	user, password string
	encryption     string
}

const mostAddressees = 50

func readEmail(s *secrets, n *node) (receiver, error) {
	if err := n.only("email", "server", "from", "to", "user", "password", "encryption"); err != nil {
		return nil, err
	}
	m := &email{}
	var err error
	if m.server, err = s.needed(n, "email", "server"); err != nil {
		return nil, err
	}
	if m.host, _, err = net.SplitHostPort(m.server); err != nil {
		return nil, n.find("server").wrong("server is HOST:PORT, such as smtp.example.org:587")
	}
	from, err := s.needed(n, "email", "from")
	if err != nil {
		return nil, err
	}
	if m.from, err = mail.ParseAddress(from); err != nil {
		return nil, n.find("from").wrong("%q is no address", from)
	}
	list, err := n.listOf("to")
	if err != nil {
		return nil, err
	}
	for _, text := range list {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return nil, n.find("to").wrong("%q is no address", text)
		}
		m.to = append(m.to, to)
	}
	if len(m.to) == 0 || len(m.to) > mostAddressees {
		return nil, n.wrong("email needs the key to: from one to %d addresses", mostAddressees)
	}
	if m.user, err = s.of(n, "user"); err != nil {
		return nil, err
	}
	if m.password, err = s.of(n, "password"); err != nil {
		return nil, err
	}
	if m.encryption, err = n.textOf("encryption"); err != nil {
		return nil, err
	}
	if m.encryption == "" {
		m.encryption = encryptions[0]
	}
	if !slices.Contains(encryptions, m.encryption) {
		return nil, n.find("encryption").wrong("encryption is starttls, tls or off, not %s", m.encryption)
	}
	if m.encryption == "off" && m.password != "" {
		return nil, n.find("encryption").wrong("a password is not sent without encryption")
	}
	return m, nil
}

func (m *email) target() string {
	var to []string
	for _, a := range m.to {
		to = append(to, a.Address)
	}
	return strings.Join(to, ", ") + " by " + m.server
}

func (m *email) send(ctx context.Context, msg *message) error {
	conn, err := dial(ctx, "tcp", m.server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if m.encryption == "tls" {
		conn = tls.Client(conn, &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12})
	}
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return err
	}
	defer c.Close()
	err = m.talk(c, msg)
	var refused *textproto.Error
	if errors.As(err, &refused) && refused.Code >= 500 {
		return &refusedError{"the mail server said " + refused.Error()}
	}
	return err
}

// talk is the conversation with the mail server.
func (m *email) talk(c *smtp.Client, msg *message) error {
	if m.encryption == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return &refusedError{"the mail server offers no STARTTLS; encryption: off goes without"}
		}
		if err := c.StartTLS(&tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}); err != nil {
			return err
		}
	}
	if m.user != "" {
		if err := c.Auth(smtp.PlainAuth("", m.user, m.password, m.host)); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
	}
	if err := c.Mail(m.from.Address); err != nil {
		return err
	}
	for _, to := range m.to {
		if err := c.Rcpt(to.Address); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.text(msg)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	// The message has arrived: how the conversation ends changes nothing.
	c.Quit()
	return nil
}

// text is the message with its headers.
func (m *email) text(msg *message) []byte {
	var out bytes.Buffer
	var to []string
	for _, a := range m.to {
		to = append(to, a.String())
	}
	fmt.Fprintf(&out, "From: %s\r\nTo: %s\r\n", m.from, strings.Join(to, ",\r\n "))
	fmt.Fprintf(&out, "Subject: %s\r\n", mime.QEncoding.Encode("utf-8", "weir: "+msg.title))
	fmt.Fprintf(&out, "Date: %s\r\n", msg.at.Format(time.RFC1123Z))
	fmt.Fprintf(&out, "Message-ID: <%s.%d@weir>\r\n", msg.list[0].id, msg.at.UnixNano())
	out.WriteString("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Content-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-generated\r\n\r\n")
	w := quotedprintable.NewWriter(&out)
	// It writes to memory.
	w.Write([]byte(strings.ReplaceAll(msg.plain(), "\n", "\r\n")))
	w.Close()
	return out.Bytes()
}
