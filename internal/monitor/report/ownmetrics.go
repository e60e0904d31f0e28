package report

// Own is a number of the server itself, which no query has. Those of one name stand
// together.
type Own struct {
	Name   string // of the family: counters get their _total, infos their _info
	Kind   string // gauge, counter or info
	Unit   string // the end of the name where it has one
	Help   string
	Labels []OwnLabel
	Value  float64 // what is not known has no sample
}

// OwnLabel is a label of such a number.
type OwnLabel struct{ Name, Value string }

// suffixes are what the samples of kinds end with.
var suffixes = map[string]string{"counter": "_total", "info": "_info"}

// own writes numbers of the server.
func (p *page) own(list []Own) {
	before := ""
	for i := range list {
		o := &list[i]
		if o.Name != before {
			p.head(&family{name: o.Name, kind: o.Kind, unit: o.Unit, help: o.Help})
			before = o.Name
		}
		of := make(labels, len(o.Labels))
		for k, l := range o.Labels {
			of[k] = label{l.Name, l.Value}
		}
		p.sample(o.Name+suffixes[o.Kind], of, o.Value)
	}
}
