package mapping

import (
	"strings"

	"github.com/weirhq/weir/internal/core/near"
)

// listsNames begins the fix for a name that is close to none.
const listsNames = "known are "

// nearest returns the fix for an unknown name: the closest known name, or else a list of all.
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
	return listsNames + strings.Join(known, ", ")
}
