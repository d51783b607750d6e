package registry

import (
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
)

// Provenance returns where a setting comes from.
func Provenance(origin string, s weir.Stamp) api.Provenance {
	return api.Provenance{Origin: origin, ChangedAt: s.At, ChangedBy: s.By}
}

// Stamp returns the stamp of a change that a caller makes now.
func Stamp(by string) weir.Stamp { return weir.Stamp{By: by, At: time.Now().UTC()} }

// FromFile refuses to remove a setting that only the configuration file has: the next start would
// restore it.
func FromFile(what, name string) error {
	return &check.Refusal{Code: "in_use",
		Detail: fmt.Sprintf("%s %q come from the configuration file, and were not changed over the API", what,
			name), Fix: "change the configuration file and restart a node"}
}
