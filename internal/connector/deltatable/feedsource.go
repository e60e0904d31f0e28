package deltatable

import (
	"context"
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
)

// insertPieces are the files that a table begins with, as changes.
func insertPieces(files []*delta.Add, version int64) []piece {
	pieces := make([]piece, len(files))
	for i, f := range files {
		pieces[i] = piece{files: 1, bytes: f.Size, feed: delta.FeedPiece{delta.Insert(f, version)}}
	}
	return pieces
}

// feedCommit is what a commit tells the change feed.
func (d *source) feedCommit(ctx context.Context, version int64) (*commit, error) {
	feed, err := d.table.FeedOf(version)
	if err != nil {
		return nil, err
	}
	if err := d.checkFeed(ctx, version, feed.Metadata); err != nil {
		return nil, err
	}
	c := &commit{stays: feed.Files}
	if c.change, err = d.changeIn(ctx, version, feed.Metadata != nil); err != nil {
		return nil, err
	}
	for _, p := range feed.Pieces {
		files, bytes := p.Size()
		c.pieces = append(c.pieces, piece{files: files, bytes: bytes, feed: p})
	}
	return c, nil
}

// checkFeed refuses a version whose changes were not kept, or whose columns the query
// does not know. What is known of one version holds until a description changes it.
func (d *source) checkFeed(ctx context.Context, version int64, m *delta.Metadata) error {
	if m == nil && d.fed {
		return nil
	}
	if m == nil {
		s, err := d.table.LoadVersion(ctx, version)
		if err != nil {
			return err
		}
		m = &s.Metadata
	}
	if !m.HasFeed() {
		_, last, err := d.table.Versions()
		if err != nil {
			return err
		}
		return missingFeed(version, version, last)
	}
	d.fed = true
	return d.checkSchema(version, m)
}

// readFeed yields the changes of pieces.
func (d *source) readFeed(ctx context.Context, pieces []*piece, columns []string) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		var files []*delta.FeedFile
		for _, p := range pieces {
			files = append(files, p.feed...)
		}
		if len(files) == 0 {
			return
		}
		times, err := d.table.TimesOf(files[0].Version, files[len(files)-1].Version)
		if err != nil {
			yield(nil, err)
			return
		}
		sizes := make([]int64, len(files))
		for i, f := range files {
			at, ok := times[f.Version]
			if !ok && slices.Contains(columns, delta.FeedTime) {
				yield(nil, fmt.Errorf("the commit of version %d of %s is gone, and its time with it", f.Version, d.text))
				return
			}
			d.Arrivals.Add(at, float64(f.Size))
			sizes[i] = f.Size
		}
		connector.ReadParts(d.env, sizes, func(i int) chunk.Rows {
			return vacuumed(d.reader.ReadFeed(ctx, files[i], columns, times[files[i].Version]))
		})(yield)
	}
}
