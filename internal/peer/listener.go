package peer

import (
	"errors"
	"log/slog"
	"net"
)

// Own admits only connections whose other end belongs to the user of this
// process: everybody on the machine can reach a loopback port. A refused
// connection is closed without a byte and logged. Where owners cannot be looked
// up (outside Linux) every connection is admitted.
func Own(l net.Listener, log *slog.Logger) net.Listener { return &own{Listener: l, log: log} }

type own struct {
	net.Listener
	log *slog.Logger
}

// Accept waits for a connection of the same user.
func (o *own) Accept() (net.Conn, error) {
	for {
		conn, err := o.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := OwnerUID(conn)
		var unsupported *UnsupportedError
		if err == nil && uid == Self() || errors.As(err, &unsupported) {
			return conn, nil
		}
		if closedByPeer(conn) {
			// Whoever it was has gone already, and was told nothing.
			o.log.Debug("a connection ended before its owner was found", "from", conn.RemoteAddr().String())
		} else {
			o.log.Warn("refused a connection that is not this user's", "from", conn.RemoteAddr().String(),
				"uid", uid, "error", err)
		}
		conn.Close()
	}
}
