// Package windows is the functions that stand before OVER only: ranks and
// values of other rows. It binds them and says over which frame each works; exec
// computes them, since their values hang on the rows around.
package windows
