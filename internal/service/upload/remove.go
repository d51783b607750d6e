package upload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// maxUses bounds the uses in the record of an upload.
const maxUses = 100

// ErrTooManyUses is returned by [Uploads.Use] for an upload that too many bulk actions wait to
// read.
var ErrTooManyUses = fmt.Errorf("%d bulk actions use the upload", maxUses)

// Use keeps an upload until [Uploads.Release] is called for the bulk action.
func (u *Uploads) Use(ctx context.Context, id, bulk string) error {
	_, err := u.files.Update(ctx, id, func(f *File) error {
		switch {
		case f.Gone:
			return weir.ErrNotFound
		case slices.Contains(f.Used, bulk):
		case len(f.Used) >= maxUses:
			return ErrTooManyUses
		default:
			f.Used = append(f.Used, bulk)
		}
		f.Touched = time.Now().UTC()
		return nil
	})
	return err
}

// Release ends the use of an upload by a bulk action, and removes the upload after
// its last use. It may be called again after a failure.
func (u *Uploads) Release(ctx context.Context, id, bulk string) error {
	e, err := u.files.Update(ctx, id, func(f *File) error {
		if i := slices.Index(f.Used, bulk); i >= 0 {
			f.Used = slices.Delete(f.Used, i, i+1)
			f.Gone = len(f.Used) == 0
		}
		return nil
	})
	if err == nil && e.Value.Gone {
		err = u.drop(ctx, id)
	}
	if errors.Is(err, weir.ErrNotFound) {
		return nil
	}
	return err
}

// Remove removes an upload, also while bulk actions use it.
func (u *Uploads) Remove(ctx context.Context, id string) error {
	return u.removeIf(ctx, id, func(*File) bool { return true })
}

// errKept ends the removal of an upload that is still needed.
var errKept = errors.New("the upload is needed")

// removeIf removes an upload unless its record shows that it is needed. Readers stop finding it
// before its first block is removed, so that no reader takes a part for the whole.
func (u *Uploads) removeIf(ctx context.Context, id string, unneeded func(*File) bool) error {
	_, err := u.files.Update(ctx, id, func(f *File) error {
		if !unneeded(f) {
			return errKept
		}
		f.Gone = true
		return nil
	})
	if err != nil {
		return err
	}
	return u.drop(ctx, id)
}

// drop removes the blocks of an upload marked as gone. The record is removed last: until then
// its blocks can be found.
func (u *Uploads) drop(ctx context.Context, id string) error {
	if err := u.blocks.DropPieces(ctx, blocksOf(id)); err != nil {
		return err
	}
	return u.files.Delete(ctx, id)
}

// Sweep removes uploads that were last touched before a time and that no bulk action waits for,
// and finishes interrupted removals. The function waits reports whether a bulk action of
// [File.Used] still has to read the upload.
func (u *Uploads) Sweep(ctx context.Context, before time.Time,
	waits func(ctx context.Context, id, bulk string) (bool, error)) error {
	for e, err := range u.files.All(ctx, "") {
		if err != nil {
			return err
		}
		if !e.Value.expired(before) {
			continue
		}
		if needed, err := anyWaits(ctx, e.Name, &e.Value, waits); err != nil {
			return err
		} else if needed {
			continue
		}
		err = u.removeIf(ctx, e.Name, func(f *File) bool { return f.expired(before) })
		if err != nil && !errors.Is(err, errKept) && !errors.Is(err, weir.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (f *File) expired(before time.Time) bool { return f.Gone || f.Touched.Before(before) }

func anyWaits(ctx context.Context, id string, f *File, waits func(ctx context.Context, id, bulk string) (bool,
	error)) (bool, error) {
	if f.Gone {
		return false, nil
	}
	for _, bulk := range f.Used {
		if yes, err := waits(ctx, id, bulk); yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}
