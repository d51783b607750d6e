package partition

import (
	"strings"

	"github.com/weirhq/weir"
)

// Place is a run of a bulk action's blocks. They lie under the bulk action's id, or under the name of items that were
// set aside before it was submitted: it adopted those blocks as they are. See [StageName].
type Place struct {
	Stage  string `json:"stage,omitempty"` // the word in the name; empty: under the id
	First  uint32 `json:"first,omitempty"` // number of the first block there
	Blocks uint32 `json:"blocks"`
}

// stagePrefix begins the name under which the blocks of a stage are stored; the bulk action's id ends it.
const stagePrefix = "st_"

// StageName returns the name under which items are set aside for a bulk action. The word tells its stages apart.
func StageName(id weir.BulkID, word string) weir.BulkID {
	return weir.BulkID(stagePrefix + word + "_" + string(id))
}

// StageOf takes the name of a stage apart. Of any other name, ok is false.
func StageOf(name weir.BulkID) (id weir.BulkID, word string, ok bool) {
	rest, ok := strings.CutPrefix(string(name), stagePrefix)
	if !ok {
		return "", "", false
	}
	word, bulk, ok := strings.Cut(rest, "_")
	return weir.BulkID(bulk), word, ok
}

// BlockAt returns under which name and number a block is stored. What is not a block of items, as filters are, is stored
// under the id and its own number.
func (c *Created) BlockAt(no uint32) (name weir.BulkID, at uint32) {
	at = no
	for _, p := range c.Places {
		switch {
		case at >= p.Blocks:
			at -= p.Blocks
		case p.Stage == "":
			return c.ID, p.First + at
		default:
			return StageName(c.ID, p.Stage), p.First + at
		}
	}
	return c.ID, no
}

// Adopts reports whether blocks of that name are among those of the bulk action.
func (c *Created) Adopts(name weir.BulkID) bool {
	id, word, ok := StageOf(name)
	if !ok || id != c.ID {
		return false
	}
	for _, p := range c.Places {
		if p.Stage == word {
			return true
		}
	}
	return false
}

// Stages lists the names, other than the id, under which blocks of the bulk action are stored.
func (c *Created) Stages() (names []weir.BulkID) {
	seen := map[string]bool{"": true}
	for _, p := range c.Places {
		if !seen[p.Stage] {
			seen[p.Stage] = true
			names = append(names, StageName(c.ID, p.Stage))
		}
	}
	return names
}
