package monitor

import "testing"

func TestSecretsAreHidden(t *testing.T) {
	for _, c := range []struct {
		name, value string
		hidden      bool
	}{
		{"spark.my.Password", "x", true}, {"fs.s3a.access.key", "x", true}, {"spark.x.token", "x", true},
		{"kafka.sasl.jaas.config", `required username="u" password="p";`, true},
		{"url", "jdbc:pg://u:p@host/db", true}, {"url", "https://host/?token=abc", true},
		{"url", "https://host:8080/path", false}, {"path", "/data/tokens/in", false}, {"trigger", "10s", false},
		{"spark.secret", "", false},
	} {
		got := Setting{c.name, c.value}.Redacted()
		if hidden := got.Value == Hidden; hidden != c.hidden || !hidden && got.Value != c.value {
			t.Errorf("%s = %s: %q", c.name, c.value, got.Value)
		}
	}
}
