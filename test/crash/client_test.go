package crash

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

// answerWait bounds one command of the client; the longest ones wait for the
// ticks of a few seconds on a loaded machine.
const answerWait = 5 * time.Minute

// client is a running ingest.py.
type client struct {
	commands io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply // nil when the process is gone
}

type reply struct {
	ID     int             `json:"id"`
	Answer json.RawMessage `json:"answer"`
	Error  string          `json:"error"`
}

// command is what the client reads from a line.
type command struct {
	ID        int       `json:"id"`
	Op        string    `json:"op"`
	Arguments arguments `json:"arguments"`
}

// arguments are those of every command; each takes the ones it knows.
type arguments struct {
	Remote     string `json:"remote,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Rate       int    `json:"rate,omitempty"`
	Inputs     string `json:"inputs,omitempty"`
	Out        string `json:"out,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
	Query      int    `json:"query,omitempty"`
	Batches    int    `json:"batches,omitempty"`
	Table      string `json:"table,omitempty"`
	Die        string `json:"die,omitempty"`
	Warehouse  string `json:"warehouse,omitempty"`
	End        bool   `json:"end,omitempty"`
	Source     string `json:"source,omitempty"`
	Sink       string `json:"sink,omitempty"`
	Broker     string `json:"broker,omitempty"`
	First      *int   `json:"first,omitempty"`
	Rows       int    `json:"rows,omitempty"`
	Commits    int    `json:"commits,omitempty"`
}

// startClient starts ingest.py; it ends with the test.
func startClient(t *testing.T) *client {
	t.Helper()
	cmd := exec.Command(testkit.Python(t), "ingest.py")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "SPARK_CONNECT_MODE_ENABLED=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &client{commands: in, waiting: map[int]chan reply{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.listen(out)
		_ = cmd.Wait() // its end is what the readers of replies see
	}()
	t.Cleanup(func() {
		in.Close()
		<-done
	})
	return c
}

// listen hands replies to those who wait for them until the process ends.
func (c *client) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			fmt.Fprintln(os.Stderr, "ingest.py:", lines.Text())
			continue
		}
		c.mu.Lock()
		if to := c.waiting[r.ID]; to != nil {
			to <- r
			delete(c.waiting, r.ID)
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, to := range c.waiting {
		close(to)
	}
	c.waiting = nil
}

// send gives the client a command and returns where its reply comes.
func (c *client) send(op string, a arguments) (<-chan reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		return nil, errors.New("ingest.py is gone")
	}
	c.last++
	line, err := json.Marshal(command{c.last, op, a})
	if err != nil {
		return nil, err
	}
	to := make(chan reply, 1)
	c.waiting[c.last] = to
	_, err = c.commands.Write(append(line, '\n'))
	return to, err
}

// call runs a command and decodes its answer.
func call[T any](c *client, op string, a arguments) (T, error) {
	var answer T
	to, err := c.send(op, a)
	if err != nil {
		return answer, err
	}
	select {
	case r, ok := <-to:
		if !ok {
			return answer, errors.New("ingest.py ended")
		}
		if r.Error != "" {
			return answer, errors.New(r.Error)
		}
		return answer, json.Unmarshal(r.Answer, &answer)
	case <-time.After(answerWait):
		return answer, fmt.Errorf("no reply to %s within %s", op, answerWait)
	}
}
