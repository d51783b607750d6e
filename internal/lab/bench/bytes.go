package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// bytesPerItem is what an item takes on the disk before and after it ran.
func bytesPerItem(b *bench) error {
	all, err := b.times(1, "bytes", params{Items: million}) // bytes do not depend on how busy the machine is
	if err != nil {
		return err
	}
	b.judge(claim{what: "bytes: an item as it comes, id and document", unit: "bytes"}, all["raw"]...)
	b.judge(claim{what: "bytes: an item in its block, pending", unit: "bytes"}, all["pending"]...)
	b.judge(claim{what: "bytes: what a finished item adds, no output", unit: "bytes"}, all["finished"]...)
	b.judge(claim{what: "bytes: on disk, finished, the log's unused rest included", unit: "bytes"}, all["disk"]...)
	return nil
}

func measureBytes(ctx context.Context, dir string, p params) (figures, error) {
	chain := noop(100)
	r, err := open(ctx, dir, engine.Options{Partitions: 1}, chain)
	if err != nil {
		return nil, err
	}
	r.start(ctx)
	b, err := engine.Submit(ctx, r.Engine, chain, rewards(p.Items), weir.Spec{})
	if err != nil {
		return nil, err
	}
	if _, err := b.Wait(ctx); err != nil {
		return nil, err
	}
	rows := 0
	err = r.store.Scan(ctx, 0, nil, func(k, v []byte) error {
		rows += len(k) + len(v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	raw := 0
	for it := range rewards(p.Items) {
		raw += len(it.ID) + len(it.Value)
	}
	blocks := r.store.blockBytes.Load()
	if err := r.close(); err != nil {
		return nil, err
	}
	disk, err := size(dir)
	n := float64(p.Items)
	return figures{"raw": float64(raw) / n, "pending": float64(blocks) / n, "finished": float64(rows) / n, "disk": float64(disk) / n}, err
}

// size is how many bytes the files of a directory have.
func size(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // removed in the meantime
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
