package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// cursor walks over encoded values. After an error it stands at the end, and
// everything that is read is zero.
type cursor struct {
	b     []byte
	at    int
	err   error
	empty int64 // elements of arrays that took no bytes
}

var errCut = errors.New("the record goes on behind the end of its bytes")

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.at = len(c.b)
}

// varint is a zigzag number of up to 64 bits.
func (c *cursor) varint() int64 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 { // most numbers are small
		x := c.b[c.at]
		c.at++
		return int64(x>>1) ^ -int64(x&1)
	}
	x, n := binary.Varint(c.b[c.at:])
	switch {
	case n > 0:
		c.at += n
	case n == 0:
		c.fail(errCut)
	default:
		c.fail(errors.New("a number has more than 64 bits"))
	}
	return x
}

func (c *cursor) int() int32 {
	x := c.varint()
	if x != int64(int32(x)) {
		c.fail(fmt.Errorf("%d is no 32-bit number", x))
		return 0
	}
	return int32(x)
}

// take is the next n bytes; they share memory.
func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.b)-c.at) {
		if n < 0 {
			c.fail(fmt.Errorf("a length is negative: %d", n))
		} else {
			c.fail(errCut)
		}
		return nil
	}
	from := c.at
	c.at += int(n)
	return c.b[from:c.at]
}

func (c *cursor) bytes() []byte { return c.take(c.varint()) }

func (c *cursor) float() float32 {
	if b := c.take(4); b != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) double() float64 {
	if b := c.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (c *cursor) boolean() uint8 {
	b := c.take(1)
	if b == nil {
		return 0
	}
	if b[0] > 1 {
		c.fail(fmt.Errorf("a boolean is %d", b[0]))
	}
	return b[0]
}

// index is the number of a branch or a symbol, of which there are n.
func (c *cursor) index(what string, n int) int {
	i := c.varint()
	if c.err == nil && (i < 0 || i >= int64(n)) {
		c.fail(fmt.Errorf("%s %d of %d", what, i, n))
		return 0
	}
	return int(i)
}

// maxEmpty bounds the elements of a block's arrays that take no bytes.
const maxEmpty = 1 << 20

// items is how many elements of an array or map come next, 0 at its end; least
// is the bytes of the smallest one.
func (c *cursor) items(least int) int {
	n := c.varint()
	if n < 0 {
		n = -n
		if size := c.varint(); size < 0 {
			c.fail(fmt.Errorf("a length is negative: %d", size))
		}
	}
	most := int64(len(c.b) - c.at)
	if least == 0 && n > 0 {
		most = maxEmpty - c.empty
		c.empty += min(n, maxEmpty)
	}
	if c.err == nil && (n < 0 || n > most) {
		c.fail(fmt.Errorf("%d elements cannot be in the %d bytes that are left", n, len(c.b)-c.at))
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// maxNesting bounds how deep values that nobody reads may be nested.
const maxNesting = 1000

// skip goes over a value.
func (c *cursor) skip(n *node, depth int) {
	if depth > maxNesting {
		c.fail(fmt.Errorf("a value is nested more than %d deep", maxNesting))
	}
	if c.err != nil {
		return
	}
	switch n.kind {
	case kindBoolean:
		c.take(1)
	case kindInt, kindLong, kindEnum:
		c.varint()
	case kindFloat:
		c.take(4)
	case kindDouble:
		c.take(8)
	case kindBytes, kindString:
		c.bytes()
	case kindFixed:
		c.take(int64(n.size))
	case kindRecord:
		for i := range n.fields {
			c.skip(n.fields[i].of, depth+1)
		}
	case kindUnion:
		if i := c.index("branch", len(n.branches)); c.err == nil {
			c.skip(n.branches[i], depth+1)
		}
	case kindArray, kindMap:
		c.skipItems(n, depth)
	}
}

func (c *cursor) skipItems(n *node, depth int) {
	for c.err == nil {
		count := c.varint()
		if count == 0 {
			return
		}
		if count < 0 {
			c.take(c.varint()) // the writer says how long the elements are
			continue
		}
		least := n.items.min
		if n.kind == kindMap {
			least = 1
		}
		if least == 0 {
			continue
		}
		for ; count > 0 && c.err == nil; count-- {
			if n.kind == kindMap {
				c.bytes()
			}
			c.skip(n.items, depth+1)
		}
	}
}
