package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

var execKind = notifierKind{name: "exec", read: func(_ *secrets, n *node) (receiver, error) {
	if err := n.only("exec", "command"); err != nil {
		return nil, err
	}
	command, err := n.listOf("command")
	if err != nil {
		return nil, err
	}
	if len(command) == 0 || !filepath.IsAbs(command[0]) {
		return nil, n.wrong("exec needs the key command: " +
			"the program by its whole path, and its arguments")
	}
	return &program{command}, nil
}}

// program runs a program of the user's with the message of a webhook as its input.
type program struct{ command []string }

// endWithin is how long a program may hold its output open after it was ended.
const endWithin = time.Second

func (p *program) target() string { return p.command[0] }

func (p *program) send(ctx context.Context, m *message) error {
	input, err := encode(m.json())
	if err != nil {
		return &refusedError{err.Error()}
	}
	c := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	c.Stdin = bytes.NewReader(input)
	said := &capped{room: 2048}
	c.Stdout, c.Stderr = said, said
	c.Env = append(c.Environ(), "WEIR_ALERT_STATUS="+m.status(), "WEIR_ALERT_TITLE="+m.title)
	c.WaitDelay = endWithin
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.New("it did not end in time")
		}
		return fmt.Errorf("%s: %w: %s", filepath.Base(p.command[0]), err, cut(said.String(), 200))
	}
	return nil
}

// capped keeps the beginning of what is written.
type capped struct {
	bytes.Buffer
	room int
}

func (c *capped) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), c.room-c.Len())])
	return len(p), nil
}
