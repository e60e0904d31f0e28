package vfs

// link is one changed name: in dir, name stood for old and stands for new; nil
// is absent.
type link struct {
	dir  *node
	name string
	old  *node
	new  *node
}

// change is what one operation does to names. A crash keeps all of it or
// nothing, as a journalling file system does.
type change struct {
	links []link
}

func (c change) touches(dirs map[*node]bool) bool {
	for _, l := range c.links {
		if dirs[l.dir] {
			return true
		}
	}
	return false
}

// apply makes a change visible. The caller holds mu.
func (m *Memory) apply(c change) {
	for _, l := range c.links {
		setName(l.dir.names, l.name, l.new)
	}
	if m.volatile {
		m.pending = append(m.pending, c)
	}
}

func setName(names map[string]*node, name string, n *node) {
	if n == nil {
		delete(names, name)
		return
	}
	names[name] = n
}

// settle makes the pending changes of dir durable, and with a rename between
// two directories whatever it rests on in the other one. The caller holds mu.
func (m *Memory) settle(dir *node) {
	dirs := map[*node]bool{dir: true}
	settled := make([]bool, len(m.pending))
	for i := len(m.pending) - 1; i >= 0; i-- {
		if !m.pending[i].touches(dirs) {
			continue
		}
		settled[i] = true
		for _, l := range m.pending[i].links {
			dirs[l.dir] = true
		}
	}
	rest := m.pending[:0]
	for i, c := range m.pending {
		if !settled[i] {
			rest = append(rest, c)
			continue
		}
		c.persist()
	}
	clear(m.pending[len(rest):])
	m.pending = rest
}

// persist brings the change to the durable names. A change whose ground was
// lost with an earlier one is lost too.
func (c change) persist() {
	for _, l := range c.links {
		if l.dir.durable[l.name] != l.old {
			return
		}
	}
	for _, l := range c.links {
		setName(l.dir.durable, l.name, l.new)
	}
}
