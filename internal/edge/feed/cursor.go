package feed

import "encoding/json"

// encode encodes a place in a source of that kind as a cursor.
func encode(kind Kind, place any) Cursor {
	return Cursor(toJSON(map[Kind]any{kind: place}))
}

// toJSON encodes values of our own, which cannot fail.
func toJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("feed: write JSON: " + err.Error())
	}
	return raw
}

// decode decodes a cursor into place, which is unchanged for the empty cursor.
func (c Cursor) decode(kind Kind, place any) error {
	if c == "" {
		return nil
	}
	var kinds map[Kind]json.RawMessage
	err := json.Unmarshal([]byte(c), &kinds)
	if err == nil {
		err = json.Unmarshal(kinds[kind], place) // for another kind there is nothing to decode, which is an error as well
	}
	if err != nil {
		return permanent(CodeBadCursor, "this is not a cursor of this source", "begin again with an empty one", err)
	}
	return nil
}
