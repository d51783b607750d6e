package draft

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/source"
)

const (
	mostCompared    = 100 // rows; two of them take up to 512 KiB of memory
	mostDifferences = 5   // of a row
)

// rowAt is where a row is. The elements of a JSON array may be in one line.
type rowAt struct {
	file, line int64
	id         string
}

func rowAtOf(file, line int64, id string) rowAt { return rowAt{max(file, 1), line, id} }

// compare tells in what the first repeated rows of the uploads differ from the rows with the same ids before them. It reads
// the uploads again, so that a check without such rows holds none of them.
func (s *Checks) compare(ctx context.Context, d *Draft, c *counting) error {
	repeated := c.out.Repeated[:min(len(c.out.Repeated), mostCompared)]
	if len(repeated) == 0 {
		return nil
	}
	firsts, later := map[rowAt][]byte{}, map[rowAt][]*api.SameID{}
	for i := range repeated {
		r := &repeated[i]
		firsts[rowAtOf(r.FirstFile, r.FirstLine, r.ID)] = nil
		at := rowAtOf(r.File, r.Line, r.ID)
		later[at] = append(later[at], r)
	}
	rows, err := openRows(ctx, s.uploads, d.Spec.Source, &c.how, source.Options{})
	if err != nil {
		return unusable(1, err)
	}
	defer rows.Close()
	left := len(repeated)
	for it, err := range rows.all() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if bad := (*source.RowError)(nil); errors.As(err, &bad) || err == nil && rows.refused(&it.Item) != nil {
			continue
		} else if err != nil {
			return unusable(it.file, err)
		}
		at := rowAtOf(int64(it.file), int64(it.Line), it.ID)
		if first, wanted := firsts[at]; wanted && first == nil {
			firsts[at] = slices.Clone(it.Data)
			continue
		}
		if same := later[at]; len(same) > 0 {
			same[0].Identical, same[0].Differs = differences(firsts[rowAtOf(same[0].FirstFile, same[0].FirstLine, it.ID)], it.Data)
			later[at] = same[1:]
			if left--; left == 0 {
				break
			}
		}
	}
	return nil
}

// differences compares two documents. It knows nothing of a first one that was not found.
func differences(first, doc []byte) (identical bool, differ []api.Difference) {
	var before, after map[string]json.RawMessage
	if first == nil || json.Unmarshal(first, &before) != nil || json.Unmarshal(doc, &after) != nil {
		return false, nil
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if string(before[name]) != string(after[name]) && len(differ) < mostDifferences {
			differ = append(differ, api.Difference{Field: name, First: valueAt(first, name), Value: valueAt(doc, name)})
		}
	}
	return len(differ) == 0, differ
}
