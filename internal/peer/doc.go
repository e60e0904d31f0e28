// Package peer tells which user of this machine holds the other end of a TCP
// connection, so that a server on a loopback address can serve its own user and
// refuse the neighbours.
//
// The kernel lists every socket with its owner in /proc/net/tcp and
// /proc/net/tcp6. The peer's socket is the one whose addresses are ours swapped.
//
// Rules that hold:
//
//   - Only an established socket that a process still holds counts. A socket
//     that is closing is listed as root's, whoever opened it.
//   - No answer is ever guessed: what cannot be looked up is an error, and a
//     caller refuses the connection.
//   - A peer in another network namespace (a container with a network of its
//     own) is not listed, so it is not found.
//
// The lookup reads the whole table: call it once per connection. At most 256 MiB
// of it are read, about 1.7 million sockets.
//
// Goroutines: none.
package peer
