package bulk

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// ItemName returns the name of an item in URLs: its bulk action and its number there.
func ItemName(bulk string, no int64) string {
	return "itm_" + strings.TrimPrefix(bulk, "ba_") + "-" + strconv.FormatInt(no, 10)
}

// ParseItemName is the inverse of [ItemName].
func ParseItemName(name string) (bulk string, no int64, err error) {
	id, number, ok := strings.Cut(strings.TrimPrefix(name, "itm_"), "-")
	no, bad := strconv.ParseInt(number, 10, 64)
	if !ok || !strings.HasPrefix(name, "itm_") || bad != nil || no < 0 || ItemName("ba_"+id, no) != name {
		return "", 0, fmt.Errorf("item %q: %w; an item id is itm_, the bulk action's id without ba_, a hyphen and its number",
			name, weir.ErrNotFound)
	}
	return "ba_" + id, no, nil
}
