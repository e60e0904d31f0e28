package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/state"
)

// keptGroups numbers the groups of a batch that a state keeps. The rows of the
// state are what tells them apart, so that each key is looked up once.
type keptGroups struct {
	table *state.Table
	at    []int32 // the row of each group
	// known is told of groups that were there before the batch, when it meets them.
	known func(ids, rows []int32) error
	// nameless says that nobody will ask for the keys of the groups.
	nameless bool
	rows     []int32
	added    chunk.Sel
	total    int64 // groups that were not there before the batch
}

// assign gives rows the number of their group, and appends those whose group the
// batch has not met yet to fresh.
func (k *keptGroups) assign(keys []*chunk.Vector, ids []int32, fresh []uint16) ([]uint16, error) {
	if len(keys) == 0 {
		clear(ids)
		return fresh, nil
	}
	return k.number(keys, ids, fresh)
}

func (k *keptGroups) number(keys []*chunk.Vector, ids []int32, fresh []uint16) ([]uint16, error) {
	if cap(k.rows) < len(ids) {
		k.rows = make([]int32, max(len(ids), chunk.MaxRows))
	}
	rows := k.rows[:len(ids)]
	var err error
	if k.added, err = k.table.Claim(keys, rows, k.added[:0]); err != nil {
		return fresh, err
	}
	// A row's scratch is its group's number if that group says so too.
	scratch, at, before := k.table.Scratch(), k.at, len(k.at)
	for i, row := range rows {
		id := scratch[row]
		if uint(id) >= uint(len(at)) || at[id] != row {
			id = int32(len(at))
			scratch[row], at = id, append(at, row)
			fresh = append(fresh, uint16(i))
		}
		ids[i] = id
	}
	k.at = at
	k.total += int64(len(k.added))
	return fresh, k.greet(fresh, before)
}

// greet hands over the groups from number first on that were there before; fresh
// are the rows in which they were met.
func (k *keptGroups) greet(fresh []uint16, first int) error {
	n := len(fresh) - len(k.added)
	if n == 0 {
		return nil
	}
	ids, rows := make([]int32, 0, n), make([]int32, 0, n)
	added := k.added
	for j, i := range fresh {
		if len(added) > 0 && added[0] == i {
			added = added[1:]
			continue
		}
		ids, rows = append(ids, int32(first+j)), append(rows, k.at[first+j])
	}
	return k.known(ids, rows)
}

// bytes is the memory of the numbers and of what they added to the state, about.
func (k *keptGroups) bytes() int64 { return int64(4*cap(k.at)) + k.total*k.table.RowBytes() }
