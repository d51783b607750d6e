package badinput

import (
	"io"
	"strings"
)

// itemRows are faults of items.
func itemRows() []row {
	long := strings.Repeat("x", 300)
	return []row{
		{31, "no items", asks("POST", "/v1/bulk-actions/{empty}/seal", `{}`), 422, "no_items", "items: is empty|allow_empty"},
		{32, "more items than may be", ndjson(many(maxItems + 1)), 422, "too_many_items", "1001 items are more than the maximum of 1000|split"},
		{33, "a large item", ndjson("{\"id\":\"a\"}\n{\"id\":\"b\",\"x\":\"" + strings.Repeat("y", 256<<10) + "\"}\n"), 422, "item_too_large", "line 2|at most 262144"},
		{33, "a large item in the request", create(`{` + steps + `,"items":[{"id":"a","data":"` + strings.Repeat("y", 256<<10) + `"}]}`), 422, "item_too_large", "items[0].data|262144"},
		{34, "an item without an id", ndjson("{\"id\":\"a\"}\n{\"x\":1}\n"), 422, "missing_id", "line 2|give every item an id"},
		{34, "an item with an empty id", create(`{` + steps + `,"items":[{"id":"a"},{"id":""}]}`), 422, "missing_id", "items[1].id"},
		{35, "a long id", ndjson(`{"id":"` + long + `"}`), 422, "id_too_long", "line 1|300 bytes|at most 256"},
		{36, "an id twice", csv("id,n\na,1\n\nb,2\na,3\n"), 422, "duplicate_item", `line 5: the id "a" came before, on line 2|keep_first`},
		{36, "an id twice in the request", create(`{` + steps + `,"items":[{"id":"a"},{"id":"b"},{"id":"a"}]}`), 422, "duplicate_item", `items[2].id: "a" came before, as items[0]|keep_all`},
		{36, "an id twice where the first is kept", asks("POST", "/v1/bulk-actions/{loose}/items", "id\na\na\n", "Content-Type", "text/csv"), 202, good, `"duplicates":1`},
		{37, "a broken line", ndjson("{\"id\":\"a\"}\n{\"id\":\"b\" x}\n"), 422, "bad_line", "line 2|not valid JSON"},
		{37, "a line that is not an object", ndjson("[1]\n"), 422, "bad_line", "line 1|not a JSON object"},
		{37, "a broken line that is recorded", asks("POST", "/v1/bulk-actions/{loose}/items", "{\"id\":\"z\"}\n{\n", "Content-Type", "application/x-ndjson"), 202, good, `"bad_lines":1`},
		{38, "blank lines are skipped", ndjson("\n{\"id\":\"blank\"}\n\n"), 202, good, `"accepted":1`},
		{39, "CRLF is accepted", ndjson("{\"id\":\"crlf1\"}\r\n{\"id\":\"crlf2\"}\r\n"), 202, good, `"accepted":2`},
		{40, "no last newline is accepted", ndjson(`{"id":"last"}`), 202, good, `"accepted":1`},
		{41, "a line of a GiB", endlessLine, 422, "item_too_large", "line 2"},
		{42, "CSV without a header", csv("1,jane@example.com\n2,joe@example.com\n"), 422, "bad_csv", "line 1|looks like data"},
		{43, "a column twice", csv("id,a,a\n1,2,3\n"), 422, "bad_csv", `columns 2 and 3 are both named "a"`},
		{43, "an empty column", csv("id,,a\n1,2,3\n"), 422, "bad_csv", "column 2 has no name"},
		{44, "a row of the wrong width", csv("id,a\n1,2\n3\n"), 422, "bad_csv", "line 3|1 cell, the header has 2"},
		{45, "an open quote", csv("id,a\n1,\"x\n2,3\n"), 422, "bad_csv", "line 2|never closed"},
		{46, "semicolons for commas", csvBy("?delimiter=,", "id;a\n1;2\n"), 422, "bad_csv", "looks ';'-separated: set the delimiter"},
		{46, "a delimiter that is none", csvBy("?delimiter=%22", "id;a\n1;2\n"), 422, "bad_option", "delimiter"},
		{47, "no id column", csvBy("?item_id=user", "id,a\n1,2\n"), 422, "bad_csv", `no column "user"|choose one of id, a`},
	}
}

// endlessLine sends a line of a GiB, and gives up when the server stops reading.
func endlessLine(w *world) reply {
	body := io.MultiReader(strings.NewReader("{\"id\":\"a\"}\n{\"id\":\""), io.LimitReader(xs{}, 1<<30))
	return w.do("acme", "POST", "/v1/bulk-actions/{draft}/items", body, "Content-Type", "application/x-ndjson")
}

// xs is a text without end.
type xs struct{}

// Read implements io.Reader.
func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
