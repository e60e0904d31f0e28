package client

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config is how to reach a cluster: the settings of Kafka's own clients, such as
// bootstrap.servers, by their lower case names.
type Config struct {
	Settings map[string]string
	// ReadFile reads the files that settings name.
	ReadFile func(path string) ([]byte, error)
}

// ConfigError is a setting that Kafka's clients refuse.
type ConfigError struct{ Name, Value, Why string }

// Error is in the words of Kafka's clients.
func (e *ConfigError) Error() string {
	text := fmt.Sprintf("Invalid value %s for configuration %s", e.Value, e.Name)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// UnsupportedError is a setting that Kafka's Java clients have and this one
// does not.
type UnsupportedError struct{ Name, Value, Hint string }

// Error names the setting.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("Kafka setting %s=%s is not supported by weir. %s", e.Name, e.Value, e.Hint)
}

// The settings that are numbers, with the smallest that Kafka takes.
var numbers = map[string]int64{
	"connections.max.idle.ms": -1, "default.api.timeout.ms": 0, "fetch.max.bytes": 0, "fetch.max.wait.ms": 0,
	"fetch.min.bytes": 0, "max.partition.fetch.bytes": 0, "metadata.max.age.ms": 0, "receive.buffer.bytes": -1,
	"reconnect.backoff.max.ms": 0, "reconnect.backoff.ms": 0, "request.timeout.ms": 0, "retry.backoff.ms": 0,
	"retry.backoff.max.ms": 0, "send.buffer.bytes": -1, "socket.connection.setup.timeout.ms": 0,
}

// Those of a producer.
var producerNumbers = map[string]int64{
	"batch.size": 0, "buffer.memory": 0, "delivery.timeout.ms": 0, "linger.ms": 0, "max.block.ms": 0,
	"max.in.flight.requests.per.connection": 1, "max.request.size": 0, "retries": 0,
	"transaction.timeout.ms": 0,
}

// choices are the settings that are one of a few words.
var choices = map[string][]string{
	"isolation.level":   {"read_committed", "read_uncommitted"},
	"security.protocol": {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"},
}

var producerChoices = map[string][]string{
	"acks":               {"all", "-1", "0", "1"},
	"compression.type":   {"none", "gzip", "snappy", "lz4", "zstd"},
	"enable.idempotence": {"true", "false"},
	"security.protocol":  choices["security.protocol"],
}

// Committed tells whether records of open and aborted transactions are hidden.
func (c Config) Committed() bool {
	return strings.EqualFold(c.Settings["isolation.level"], "read_committed")
}

// Check refuses what Kafka's consumers refuse.
func (c Config) Check() error { return c.check(numbers, choices) }

func (c Config) check(numbers map[string]int64, choices map[string][]string) error {
	for _, name := range sortedKeys(c.Settings) {
		text := strings.TrimSpace(c.Settings[name])
		if words, ok := choices[name]; ok && !containsFold(words, text) {
			return &ConfigError{name, text, "String must be one of: " + strings.Join(words, ", ")}
		}
		least, ok := numbers[name]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &ConfigError{name, text, "Not a number of type INT"}
		}
		if n < least {
			return &ConfigError{name, text, fmt.Sprintf("Value must be at least %d", least)}
		}
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func containsFold(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
}

// number is a checked setting, or otherwise when it is not set.
func (c Config) number(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(c.Settings[name]), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

func (c Config) millis(name string, otherwise time.Duration) time.Duration {
	return time.Duration(c.number(name, otherwise.Milliseconds())) * time.Millisecond
}

// Servers are the addresses to begin with.
func (c Config) Servers() []string {
	var servers []string
	for _, s := range strings.Split(c.Settings["bootstrap.servers"], ",") {
		if s = strings.TrimSpace(s); s != "" {
			servers = append(servers, s)
		}
	}
	return servers
}

// checkServer refuses what is no host and port: there is no port to take without one.
func checkServer(server string) error {
	host, port, err := net.SplitHostPort(server)
	why := ""
	switch n, bad := strconv.ParseUint(port, 10, 16); {
	case err != nil || port == "" || host == "":
		why = "Invalid url in bootstrap.servers: " + server + "; a server is written as host:port"
	case bad != nil || n == 0:
		why = "Invalid port in bootstrap.servers: " + server + "; ports are numbers from 1 to 65535"
	default:
		return nil
	}
	return &ConfigError{"bootstrap.servers", server, why}
}

const (
	// A single batch that becomes larger than this when decompressed is refused.
	maxDecompressed = 256 << 20
	// Brokers answer with 50 MiB and, for one large record batch, more.
	maxAnswer = 256 << 20
)

// options are what every client needs. Repeating is left to Cluster.persist,
// which tells that it waits.
func (c Config) options() ([]kgo.Opt, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return c.connection()
}

func (c Config) connection() ([]kgo.Opt, error) {
	servers := c.Servers()
	if len(servers) == 0 {
		return nil, &ConfigError{"bootstrap.servers", c.Settings["bootstrap.servers"], "No server is named"}
	}
	for _, s := range servers {
		if err := checkServer(s); err != nil {
			return nil, err
		}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(servers...),
		kgo.SoftwareNameAndVersion("weir", "1"),
		kgo.DialTimeout(c.millis("socket.connection.setup.timeout.ms", oneAttempt)),
		kgo.ConnIdleTimeout(c.idle()),
		kgo.RequestRetries(3),
		kgo.RetryTimeout(oneAttempt),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.MaxDecompressBatchBytes(maxDecompressed),
		kgo.BrokerMaxReadBytes(maxAnswer),
		kgo.DisableClientMetrics(),
	}
	if id := c.Settings["client.id"]; id != "" {
		opts = append(opts, kgo.ClientID(id))
	}
	security, err := c.security()
	return append(opts, security...), err
}

func (c Config) idle() time.Duration {
	idle := c.millis("connections.max.idle.ms", 9*time.Minute)
	if idle <= 0 {
		return 24 * time.Hour
	}
	return idle
}
