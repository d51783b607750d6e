package mapping

import (
	"strings"

	"github.com/weirhq/weir/internal/core/near"
)

// nearest is the fix for a name that is not known: the one that was probably
// meant, or else all there are.
func nearest(word string, known []string) string {
	meant := near.Word(word, known)
	switch {
	case meant != "":
		return "did you mean " + meant + "?"
	case len(known) == 0:
		return ""
	case len(known) > 40:
		known = append(known[:40:40], "…")
	}
	return "known are " + strings.Join(known, ", ")
}
