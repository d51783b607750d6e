package weir

import "encoding/json"

// Limits of an item.
const (
	MaxIDBytes   = 256
	MaxItemBytes = 256 << 10
)

// Item is one target of a bulk action: the user's own id and a value, which is
// stored as JSON.
type Item[T any] struct {
	ID    string
	Value T
}

// RawItem is an item whose JSON document is kept byte for byte.
type RawItem = Item[json.RawMessage]
