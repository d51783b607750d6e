package sim

import (
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// place is where a block is stored: a name, and a number under it.
type place struct {
	name weir.BulkID
	no   uint32
}

// lay has some bulk actions adopt blocks that were written before they were submitted. Blocks were left out, too, and
// written again under the id.
func (w *World) lay(b *truth) {
	r := virtual.Named(w.seed, "places", b.no)
	if b.spec.Inline || !chance(r, 0.3) {
		return
	}
	left := uint32(len(b.spec.Sizes))
	for stage := 0; left > 0; {
		p := partition.Place{Stage: fmt.Sprint("s", stage), First: r.Uint32N(3), Blocks: 1 + r.Uint32N(min(left, 6))}
		switch {
		case chance(r, 0.3):
			p.Stage, p.First = "", uint32(len(b.written))
		case chance(r, 0.5):
			stage++
		}
		for i := range p.Blocks {
			name := b.spec.ID
			if p.Stage != "" {
				name = weir.BulkID("st_" + p.Stage + "_" + string(b.spec.ID))
			}
			b.written = append(b.written, place{name, p.First + i})
		}
		left -= p.Blocks
		b.spec.Places = append(b.spec.Places, p)
	}
}
