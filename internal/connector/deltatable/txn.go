package deltatable

import (
	"strconv"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// Settings of a session with which statements are made once.
const (
	txnAppConf     = "spark.databricks.delta.write.txnAppId"
	txnVersionConf = "spark.databricks.delta.write.txnVersion"
)

// Txn is the transaction of a write into the table of a directory: that of the
// options, else of the session's settings, else of the batch whose function writes. Nil
// when there is none.
func Txn(env *connector.Env, dir string, o plan.Options) (*delta.Txn, error) {
	const reason = "Both txnVersion and txnAppId must be specified for idempotent data frame writes"
	app, _ := o.Get("txnAppId")
	version, _ := o.Get("txnVersion")
	t, err := txnOf(env, app, version, reason)
	if t != nil || err != nil {
		return t, err
	}
	const statement = "Both " + txnAppConf + " and " + txnVersionConf +
		" must be specified for idempotent Delta writes"
	if env.Conf != nil {
		t, err = txnOf(env, env.Conf(txnAppConf), env.Conf(txnVersionConf), statement)
	}
	if t != nil || err != nil || env.NextWrite == nil {
		return t, err
	}
	name, batch := env.NextWrite(dir)
	return &delta.Txn{AppID: name, Version: batch, LastUpdated: env.Now().UnixMilli()}, nil
}

func txnOf(env *connector.Env, app, text, reason string) (*delta.Txn, error) {
	switch {
	case app == "" && text == "":
		return nil, nil
	case app == "" || text == "":
		return nil, illegal("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS", "42616", reason+".", "reason", reason)
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 {
		return nil, badOption("txnVersion", text, "must be a non-negative integer")
	}
	return &delta.Txn{AppID: app, Version: version, LastUpdated: env.Now().UnixMilli()}, nil
}
