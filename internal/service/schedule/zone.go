package schedule

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must load on a machine that has no database of them

	"github.com/weirhq/weir"

	"github.com/weirhq/weir/internal/core/near"
)

const (
	codeTime  = "bad_time"
	codeCron  = "bad_time"
	codeRange = "out_of_range"
)

//go:embed zones.txt
var zoneNames string

// loadZone returns the zone of a name from the time zone database. "Local" is refused: its meaning
// differs between nodes.
func loadZone(field, name string) (*time.Location, error) {
	if name == "" {
		return nil, &weir.FieldError{Code: codeTime, Field: field, Problem: "is missing",
			Fix: "name a time zone such as Europe/Berlin or UTC"}
	}
	if loc, err := time.LoadLocation(name); err == nil && name != "Local" {
		return loc, nil
	}
	fix := "write a name of the time zone database such as Europe/Berlin or UTC"
	if near := nearZone(name); near != "" {
		fix = fmt.Sprintf("did you mean %s?", near)
	}
	return nil, &weir.FieldError{Code: codeTime, Field: field, Problem: fmt.Sprintf("%q is not a time zone", shorten(name)), Fix: fix}
}

// maxShown bounds how much of a wrong value an error repeats.
const maxShown = 64

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// nearZone returns the zone that was probably meant, or empty if none is close: the same name in
// other case, the zone of a city, or a name with a letter or two wrong.
func nearZone(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), " ", "_")
	if len(name) > maxShown {
		return ""
	}
	best, least := "", min(3, len(name)/4)+1
	for known := range strings.Lines(zoneNames) {
		known = strings.TrimSpace(known)
		low := strings.ToLower(known)
		_, city, _ := strings.Cut(low, "/")
		if low == name || city == name {
			return known
		}
		if d := min(near.Distance(name, low), near.Distance(name, city)); d < least {
			best, least = known, d
		}
	}
	return best
}
