package sparkconnect

import (
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxUnknown is how many different paths of unknown fields are remembered.
const maxUnknown = 1000

// unknownFields counts fields of requests that this version of the protocol
// does not have: what a newer client says and weir would otherwise ignore
// without a word.
type unknownFields struct {
	mu     sync.Mutex
	counts map[string]int
}

// note counts the unknown fields of a message and logs each path once.
func (u *unknownFields) note(m proto.Message, log *slog.Logger) {
	u.walk(m.ProtoReflect(), string(m.ProtoReflect().Descriptor().Name()), 0, log)
}

func (u *unknownFields) walk(m protoreflect.Message, path string, depth int, log *slog.Logger) {
	if depth > maxDepth {
		return
	}
	if raw := m.GetUnknown(); len(raw) > 0 {
		u.count(fmt.Sprintf("%s.%d", path, firstField(raw)), log)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil || f.IsMap() && f.MapValue().Message() == nil {
			return true
		}
		at := path + "." + string(f.Name())
		switch {
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				u.walk(value.Message(), at, depth+1, log)
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				u.walk(v.List().Get(i).Message(), at, depth+1, log)
			}
		default:
			u.walk(v.Message(), at, depth+1, log)
		}
		return true
	})
}

func (u *unknownFields) count(path string, log *slog.Logger) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts == nil {
		u.counts = map[string]int{}
	}
	if _, seen := u.counts[path]; !seen {
		if len(u.counts) == maxUnknown {
			return
		}
		log.Warn("a client sent a field that this version does not know", "path", path)
	}
	u.counts[path]++
}
