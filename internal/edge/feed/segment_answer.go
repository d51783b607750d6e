package feed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/weirhq/weir/internal/core/jsonsize"
)

// nextPage is an answer's reference to the next page; both fields are empty on the last page.
type nextPage struct{ cursor, link string }

// Bounds on an answer before it is decoded.
const (
	maxLines = 200_000   // of NDJSON
	maxParts = 1_000_000 // names, values and brackets of JSON
)

// parseAnswer splits an answer into documents, which are not checked yet.
func parseAnswer(h http.Header, body []byte) (docs []json.RawMessage, next nextPage, bad *PermanentError) {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if strings.Contains(media, "ndjson") || strings.Contains(media, "jsonl") {
		if bytes.Count(body, []byte("\n")) > maxLines {
			return nil, next, tooMuch(fmt.Sprintf("%d lines", maxLines))
		}
		return lines(body), nextInHeader(h), nil
	}
	if jsonsize.Parts(body, maxParts) > maxParts {
		return nil, next, tooMuch(fmt.Sprintf("%d values", maxParts))
	}
	var array struct {
		Items  json.RawMessage `json:"items"`
		Data   json.RawMessage `json:"data"`
		Cursor json.RawMessage `json:"next_cursor"`
		Next   json.RawMessage `json:"next"`
	}
	trimmed := bytes.TrimSpace(body)
	if bytes.HasPrefix(trimmed, []byte("[")) {
		array.Items = trimmed
	} else if err := json.Unmarshal(trimmed, &array); err != nil {
		return nil, next, notJSON(body, media)
	}
	list := array.Items
	if list == nil {
		list = array.Data
	}
	if list == nil {
		return nil, next, permanent(CodeBadAnswer, `the answer has neither "items" nor "data"`,
			`answer {"items": [...], "next_cursor": "..."}`, nil)
	}
	if err := json.Unmarshal(list, &docs); err != nil {
		return nil, next, notJSON(list, media)
	}
	next, bad = nextInBody(array.Cursor, array.Next)
	if bad == nil && next == (nextPage{}) {
		next = nextInHeader(h)
	}
	return docs, next, bad
}

func tooMuch(bound string) *PermanentError {
	return permanent(CodeBadAnswer, "the answer has more than "+bound, "answer with smaller pages", nil)
}

func notJSON(body []byte, media string) *PermanentError {
	return permanent(CodeBadAnswer,
		fmt.Sprintf("the answer (%s) is not the JSON of a page: %s", cmp.Or(media, "of no content type"), excerpt(body)),
		`answer {"items": [...], "next_cursor": "..."}, or NDJSON as application/x-ndjson`, nil)
}

// lines returns the lines of NDJSON that are not blank.
func lines(body []byte) (docs []json.RawMessage) {
	for line := range bytes.Lines(bytes.Clone(body)) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			docs = append(docs, line)
		}
	}
	return docs
}

func nextInBody(cursor, link json.RawMessage) (nextPage, *PermanentError) {
	var c any
	d := json.NewDecoder(bytes.NewReader(cursor))
	d.UseNumber()
	if err := d.Decode(&c); err != nil && len(cursor) > 0 {
		c = false // refused below
	}
	switch v := c.(type) {
	case string:
		if v != "" {
			return nextPage{cursor: v}, nil
		}
	case json.Number:
		return nextPage{cursor: v.String()}, nil
	case nil:
	default:
		return nextPage{}, permanent(CodeBadAnswer, "next_cursor is neither text nor a number: "+excerpt(cursor),
			"answer with a text", nil)
	}
	var l *string
	if err := json.Unmarshal([]byte(cmp.Or(string(link), "null")), &l); err != nil {
		return nextPage{}, permanent(CodeBadAnswer, "next is not a URL: "+excerpt(link), "answer with a URL as text", nil)
	}
	if l == nil {
		return nextPage{}, nil
	}
	return nextPage{link: *l}, nil
}

// nextInHeader reads Next-Cursor, and the link of Link (RFC 8288) whose rel is next.
func nextInHeader(h http.Header) nextPage {
	if c := h.Get("Next-Cursor"); c != "" {
		return nextPage{cursor: c}
	}
	for _, line := range h.Values("Link") {
		for _, part := range strings.Split(line, "<")[1:] {
			target, params, _ := strings.Cut(part, ">")
			for p := range strings.SplitSeq(params, ";") {
				name, value, _ := strings.Cut(strings.TrimRight(strings.TrimSpace(p), ", "), "=")
				if strings.EqualFold(strings.TrimSpace(name), "rel") && strings.EqualFold(strings.Trim(strings.TrimSpace(value), `"`), "next") {
					return nextPage{link: target}
				}
			}
		}
	}
	return nextPage{}
}
