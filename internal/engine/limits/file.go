package limits

import (
	"maps"

	"github.com/weirhq/weir"
)

// SetFile returns the change that makes f the limits of the configuration file, which the writer
// of a stamp has read. It replaces those of the file before: entries that f lacks are removed. What
// was set at run time stays and comes first.
func SetFile(f weir.FileLimits, stamp weir.Stamp) func(*weir.Limits) error {
	return func(l *weir.Limits) error {
		l.File = weir.FileLimits{
			Resources: stamped(l.File.Resources, f.Resources, func(r *weir.ResourceLimits, before weir.ResourceLimits) {
				if r.Set = stamp; sameResource(*r, before) {
					r.Set = before.Set
				}
			}),
			Tenants: stamped(l.File.Tenants, f.Tenants, func(t *weir.TenantLimits, before weir.TenantLimits) {
				if t.Set = before.Set; *t != before || before.Set.At.IsZero() {
					t.Set = stamp
				}
			}),
		}
		return nil
	}
}

// stamped returns a copy of the entries of a file. Entries that have not changed keep their stamp.
func stamped[T any](before, file map[string]T, set func(v *T, before T)) map[string]T {
	out := maps.Clone(file)
	for name, v := range out {
		set(&v, before[name])
		out[name] = v
	}
	return out
}

func sameResource(a, b weir.ResourceLimits) bool {
	return !b.Set.At.IsZero() && same(a.Rate, b.Rate) && same(a.Concurrency, b.Concurrency) && same(a.Pacing, b.Pacing)
}

func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
