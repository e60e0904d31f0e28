package connector

import "time"

// Parted is a source whose partitions have names.
type Parted interface {
	// PartNames are the names of the partitions of the rows that were read last, by the
	// Part of their chunks; pieces of one partition have one name.
	PartNames() []string
}

// Dated is a source that knows when its rows came to it.
type Dated interface {
	// TakeDates is when the rows that were read since it was last asked came. The
	// query's goroutine asks once a batch.
	TakeDates() []Dates
}

// Dates is when some rows came; Weight is how many they are, in any measure.
type Dates struct {
	At     time.Time
	Weight float64
}

// MostArrivals is how many instants stand for the rows of a batch at most.
const MostArrivals = 64

// Arrivals gathers when rows came.
type Arrivals struct{ list []Dates }

// Add notes rows. When there are too many, every two neighbours become one, with the
// older instant.
func (d *Arrivals) Add(at time.Time, weight float64) {
	if len(d.list) == MostArrivals {
		for i := range MostArrivals / 2 {
			a, b := d.list[2*i], d.list[2*i+1]
			if b.At.Before(a.At) {
				a.At = b.At
			}
			a.Weight += b.Weight
			d.list[i] = a
		}
		d.list = d.list[:MostArrivals/2]
	}
	d.list = append(d.list, Dates{at, weight})
}

// Reset begins a batch, which may be read by several scans.
func (d *Arrivals) Reset() { d.list = d.list[:0] }

// TakeDates gives what was gathered.
func (d *Arrivals) TakeDates() []Dates {
	taken := d.list
	d.list = nil
	return taken
}
