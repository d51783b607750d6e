package recall

import (
	"bytes"
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// again marks a message that was put in again; an item's text cannot contain it, for its quotes are escaped there.
var again = []byte(`"again":true`)

// SiftAgain silences messages that were put in again although the store had not
// lost them, or not for long: what has become of the bulk action is stored. One
// that the machine has and has not committed yet is ignored there.
func (p *Past) SiftAgain(ctx context.Context, no int, msgs []store.Message) error {
	for i := range msgs {
		if !bytes.Contains(msgs[i].Body, again) {
			continue
		}
		m, err := partition.DecodeMessage(msgs[i])
		c := m.Created
		if err != nil || c == nil || !c.Again {
			continue // the machine will say what is wrong with it
		}
		_, _, err = partition.ReadStatus(stored.At(ctx, p.store, no), c.ID)
		if errors.Is(err, store.ErrNotFound) {
			if err = stored.Gone(ctx, p.store, no, c.ID); err == nil {
				err = p.Whole(ctx, no) // or it may be among what is put back in a moment
			}
			if err == nil {
				continue
			}
		}
		if err != nil && !errors.Is(err, weir.ErrExpired) {
			return err
		}
		if msgs[i].Body, err = partition.EncodeMark("known"); err != nil {
			return err
		}
	}
	return nil
}
