package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirhq/weir/store"
)

// Commit writes a batch in one script call.
func (s *Store) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if tok.Nonce == 0 {
		return store.ErrFenced // what a released lease leaves
	}
	k := s.keysOf(partition)
	reply, lag := s.writeScript(ctx, k, s.scripts.commit, k.forCommit, commitArguments(partition, tok, b)...)
	answer, err := reply.AsInt64()
	switch {
	case err != nil:
		return s.unsure(ctx, "commit", partition, err)
	case answer == 0:
		return store.ErrFenced
	case lag != nil: // also if it was written before: it must be on the replicas, too
		return s.lagging(ctx, "commit", partition, lag)
	case answer < 0:
		return &store.NumberError{Got: b.Number, Want: uint64(-answer)}
	}
	return nil
}

func commitArguments(partition int, tok store.Token, b *store.Batch) []string {
	size := 0
	for _, r := range b.Set {
		size += len(r.Key) + len(r.Value) + sumLen
	}
	for _, k := range b.Delete {
		size += len(k)
	}
	a := newArguments(4+2*len(b.Set)+len(b.Delete), size)
	a.addString(tokenText(tok))
	a.addString(decimal(b.Number))
	keep := ""
	if b.Ack > 0 {
		keep = messageID(b.Ack + 1)
	}
	a.addString(keep)
	a.addString(decimal(uint64(len(b.Set))))
	for _, r := range b.Set {
		a.add(r.Key)
		a.addSealed(rowPlace(partition, r.Key), r.Value)
	}
	for _, k := range b.Delete {
		a.add(k)
	}
	return a.list
}

// Last returns the last commit.
func (s *Store) Last(ctx context.Context, partition int) (store.Last, error) {
	if err := s.enter(ctx); err != nil {
		return store.Last{}, err
	}
	get := s.client.B().Hmget().Key(s.keysOf(partition).meta).Field("number", "by").Build()
	held, err := s.client.Do(ctx, get).AsStrSlice() // missing fields are empty
	if err != nil {
		return store.Last{}, s.failed(ctx, "read the last commit", partition, err)
	}
	last, err := parseLast(held[0], held[1])
	if err != nil {
		return store.Last{}, fmt.Errorf("last commit of partition %d: %w", partition, err)
	}
	return last, nil
}

func parseLast(number, by string) (last store.Last, err error) {
	if number == "" {
		return last, nil
	}
	if last.Number, err = strconv.ParseUint(number, 10, 64); err != nil {
		return last, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	if by == "" {
		return last, nil
	}
	last.By, err = parseToken(by)
	return last, err
}

// Get returns one row.
func (s *Store) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	get := s.client.B().Hget().Key(s.keysOf(partition).rows).Field(string(key)).Build()
	row, err := s.bytes(ctx, "get row", partition, s.client.Do(ctx, get))
	if err != nil {
		return nil, err
	}
	return rowPlace(partition, key).unseal("row", partition, row)
}

// GetMany returns several rows, a page of them per command.
func (s *Store) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	values := make([][]byte, 0, len(keys))
	for page := range slices.Chunk(keys, pageRows) {
		fields := make([]string, len(page))
		for i, key := range page {
			fields[i] = string(key)
		}
		get := s.client.B().Hmget().Key(s.keysOf(partition).rows).Field(fields...).Build()
		rows, err := s.client.Do(ctx, get).ToArray()
		if err != nil {
			return nil, s.failed(ctx, "get rows", partition, err)
		}
		for i := range rows {
			if rows[i].IsNil() {
				values = append(values, nil)
				continue
			}
			row, err := rows[i].AsBytes()
			if err != nil {
				return nil, s.failed(ctx, "get rows", partition, err)
			}
			if row, err = rowPlace(partition, page[i]).unseal("row", partition, row); err != nil {
				return nil, err
			}
			values = append(values, row)
		}
	}
	return values, nil
}

const (
	pageRows  = 1000 // rows per call: the server does nothing else meanwhile
	pageTries = 3    // how often a commit may come between pages before all is read in one call
)

// Scan reads page by page and yields nothing before it has all: only then does the number of
// the last commit show that the pages are of one moment.
func (s *Store) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	var rows []store.Row
	whole := false
	for try := 0; !whole; try++ {
		limit := pageRows
		if try == pageTries {
			limit = -1
		}
		var err error
		if rows, whole, err = s.pages(ctx, partition, prefix, limit); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if err := yield(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}

// pages reads all rows with a prefix, and reports whether there was no commit in between.
func (s *Store) pages(ctx context.Context, partition int, prefix []byte, limit int) (rows []store.Row, whole bool, err error) {
	from, to := lexRange(prefix)
	first := ""
	for {
		before := len(rows)
		var number string
		if number, rows, err = s.page(ctx, partition, lex{from, to, false}, limit, rows); err != nil {
			return nil, false, err
		}
		if before == 0 {
			first = number
		}
		switch {
		case number != first:
			return nil, false, nil
		case limit < 0 || len(rows)-before < limit:
			return rows, true, nil
		}
		from = "(" + string(rows[len(rows)-1].Key)
	}
}

// Page reads the rows in one call.
func (s *Store) Page(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, nil
	}
	_, rows, err := s.page(ctx, partition, lexOf(r), limit, nil)
	return rows, err
}

func (s *Store) page(ctx context.Context, partition int, l lex, limit int, rows []store.Row) (string, []store.Row, error) {
	back := "0"
	if l.back {
		back = "1"
	}
	reply, err := s.exec(ctx, s.scripts.scan, s.keysOf(partition).forScan, l.from, l.to, fmt.Sprint(limit), back).ToArray()
	if err != nil {
		return "", nil, s.failed(ctx, "scan", partition, err)
	}
	number, err := reply[0].ToString()
	if err != nil {
		return "", nil, s.failed(ctx, "scan", partition, err)
	}
	for i := 1; i+1 < len(reply); i += 2 {
		k, err := reply[i].AsBytes()
		if err != nil {
			return "", nil, s.failed(ctx, "scan", partition, err)
		}
		v, err := reply[i+1].AsBytes()
		if err != nil {
			return "", nil, fmt.Errorf("row %q of partition %d: %w: its key is there, its value is not", k, partition, store.ErrCorrupt)
		}
		if v, err = rowPlace(partition, k).unseal("row", partition, v); err != nil {
			return "", nil, err
		}
		rows = append(rows, store.Row{Key: k, Value: v})
	}
	return number, rows, nil
}
