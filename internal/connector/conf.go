package connector

import (
	"strconv"
	"strings"
)

// ConfInt is a whole-number setting, or otherwise when it is not set.
func ConfInt(env *Env, key string, otherwise int64) int64 {
	text := strings.TrimSuffix(env.Conf(key), "b")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := confBytes(text); err == nil {
		return n
	}
	return otherwise
}

// confBytes reads sizes such as 128MB.
func confBytes(text string) (int64, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	text = strings.TrimSuffix(text, "b")
	shift := 0
	if text != "" {
		if at := strings.IndexByte("kmgtp", text[len(text)-1]); at >= 0 {
			shift = 10 * (at + 1)
			text = text[:len(text)-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n << shift, err
}

// ConfMillis is a setting that is a duration.
func ConfMillis(env *Env, key string, otherwise int64) int64 {
	if ms, err := Duration(env.Conf(key), "ms"); err == nil {
		return ms
	}
	return otherwise
}

func ConfBool(env *Env, key string, otherwise bool) bool {
	switch text := env.Conf(key); {
	case strings.EqualFold(text, "true"):
		return true
	case strings.EqualFold(text, "false"):
		return false
	}
	return otherwise
}
