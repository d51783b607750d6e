package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/weirhq/weir"
)

// Match decides whether a record may be replaced. version is the version of the existing record,
// empty if it does not exist. An error ends the change.
type Match func(version string) error

// PutIf is [Table.Put] for a record that match allows to replace. A record for which
// there returns false counts as missing; a nil there means that all count. After a concurrent write it starts over, so match always
// sees the record that is replaced.
func (t *Table[T]) PutIf(ctx context.Context, name string, match Match, there func(*T) bool,
	change func(v *T, found bool) error) (Entry[T], error) {
	for {
		e, err := t.Get(ctx, name)
		stored := err == nil
		if !stored && !errors.Is(err, weir.ErrNotFound) {
			return e, err
		}
		found, version := stored && (there == nil || there(&e.Value)), ""
		if found {
			version = e.Version
		}
		if err := match(version); err != nil {
			return e, err
		}
		var refused error
		changed := func(v *T) error { refused = change(v, found); return refused }
		if stored {
			e, err = t.UpdateIf(ctx, name, e.Version, changed)
		} else {
			var v T
			if err = changed(&v); err == nil {
				e, err = t.Insert(ctx, name, v)
			}
		}
		switch meanwhile := errors.Is(err, ErrChanged) || errors.Is(err, ErrExists) || stored && errors.Is(err, weir.ErrNotFound); {
		case refused != nil:
			return e, refused
		case !meanwhile || ctx.Err() != nil:
			return e, err
		}
	}
}

// DeleteMatch removes a record that may and match accept, or returns [weir.ErrNotFound].
func (t *Table[T]) DeleteMatch(ctx context.Context, name string, match Match, may func(*T) error) error {
	e, err := t.Get(ctx, name)
	if err == nil {
		err = may(&e.Value)
	}
	if err == nil {
		err = match(e.Version)
	}
	if err != nil {
		return err
	}
	return t.DeleteIf(ctx, name, e.Version)
}

// VersionOf returns the version of a setting without a record of its own; empty if it is not set.
func VersionOf(setting any, there bool) string {
	if !there {
		return ""
	}
	raw, _ := json.Marshal(setting) // plain data
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
