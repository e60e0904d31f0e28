package client

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// buffers lends the memory that record batches are decompressed into. Their
// records are copied into columns at once, so it is soon back.
type buffers struct{ pool sync.Pool }

// A buffer larger than this is not kept.
const keptBuffer = 8 << 20

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (b *buffers) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return (*kept)[:0]
	}
	return make([]byte, 0, 4*len(compressed))
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (b *buffers) PutDecompressBytes(buffer []byte) {
	if cap(buffer) <= keptBuffer {
		b.pool.Put(&buffer)
	}
}
