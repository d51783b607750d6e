package feed

import "encoding/json"

// encode writes a place as a cursor.
func encode(place any) Cursor {
	raw, err := json.Marshal(place)
	if err != nil {
		panic("feed: encode a cursor: " + err.Error()) // plain structs of our own
	}
	return Cursor(raw)
}

// decode reads a cursor into place, which stays as it is for the empty one.
func (c Cursor) decode(place any) error {
	if c == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(c), place); err != nil {
		return permanent(CodeBadCursor, "this is not a cursor of this source", "begin again with an empty one", err)
	}
	return nil
}
