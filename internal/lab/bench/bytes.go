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
func bytesPerItem(b *bench) {
	b.told(1, "bytes", params{Items: million}, // bytes do not depend on how busy the machine is
		claim{key: "raw", what: "bytes: an item as it comes, id and document", unit: "bytes"},
		claim{key: "pending", what: "bytes: an item in its block, pending", unit: "bytes"},
		claim{key: "finished", what: "bytes: what a finished item adds, no output", unit: "bytes"},
		claim{key: "disk", what: "bytes: on disk, finished, the log's unused rest included", unit: "bytes"})
}

func measureBytes(ctx context.Context, dir string, p params) figures {
	chain := noop(100)
	r := start(ctx, dir, engine.Options{Partitions: 1}, chain)
	sure(sure(engine.Submit(ctx, r.Engine, chain, rewards(p.Items), weir.Spec{})).Wait(ctx))
	rows, raw := 0, 0
	must(r.store.Scan(ctx, 0, nil, func(k, v []byte) error {
		rows += len(k) + len(v)
		return nil
	}))
	for it := range rewards(p.Items) {
		raw += len(it.ID) + len(it.Value)
	}
	blocks := r.store.blockBytes.Load()
	r.close()
	n := float64(p.Items)
	return figures{"raw": float64(raw) / n, "pending": float64(blocks) / n, "finished": float64(rows) / n,
		"disk": float64(sure(size(dir))) / n}
}

// size returns how many bytes the files of a directory have.
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
