package badinput

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"strings"
	"time"
)

const steps = `"steps":[{"action":"award"}]`

// head begins a request on a connection of its own.
func head(kind, more string) string {
	return "POST /v1/bulk-actions/{draft}/items HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\nContent-Type: " + kind + "\n" + more + "\n\n"
}

func pack(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is right
	_, _ = z.Write(text)                                  // into memory
	_ = z.Close()
	return b.Bytes()
}

// bomb is 4 MiB that pack to a thousandth.
func bomb() []byte { return pack(bytes.Repeat([]byte("\n"), 4<<20)) }

func cutGzip() []byte {
	whole := pack(bytes.Repeat([]byte(`{"id":"a"}`+"\n"), 100))
	return whole[:len(whole)/2]
}

func nothing(net.Conn) {}

// halfClosed ends what the client sends, and waits for the answer.
func halfClosed(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() }

// endless sends chunks until the server stops reading.
func endless(c net.Conn) {
	chunk := "10000\r\n" + strings.Repeat("\n", 0x10000) + "\r\n"
	for {
		if _, err := c.Write([]byte(chunk)); err != nil {
			return
		}
	}
}

// trickle sends a byte now and then.
func trickle(c net.Conn) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := c.Write([]byte(" ")); err != nil {
			return
		}
	}
}

// bodyRows are faults of bodies that do not depend on their content, and of headers.
func bodyRows() []row {
	const items, bulk = "/v1/bulk-actions/{draft}/items", "/v1/bulk-actions"
	return []row{
		{1, "an empty body", create(""), 400, "bad_json", "the body is empty|send a JSON object"},
		{1, "a body of blanks", create(" \n"), 400, "bad_json", "the body is empty"},
		{2, "null", create("null"), 400, "bad_json", "the body is null, not a JSON object"},
		{2, "an array", create("[]"), 400, "bad_json", "the body is an array"},
		{2, "a text", create(`"x"`), 400, "bad_json", "the body is a text"},
		{3, "cut JSON", create(`{` + steps + `,"items":[{"id":"a"},{"id":"b","data":{"x":`), 400, "bad_json", "ends at byte 72 inside items[1].data"},
		{3, "two objects", create(`{` + steps + `} {}`), 400, "bad_json", "more after the JSON object, at byte 30"},
		{4, "bytes that are not UTF-8", create(`{"name":"` + "\xff" + `"}`), 400, "bad_encoding", "byte 9 is not UTF-8"},
		{4, "lines that are not UTF-8", ndjson("{\"id\":\"a\"}\n{\"id\":\"\xff\"}\n"), 400, "bad_encoding", "line 2"},
		{4, "CSV that is not UTF-8", csv("id,name\na,J\xfcrgen\n"), 400, "bad_encoding", "line 2"},
		{3, "a cut array", ndjson(`[{"id":"a"},{"id":`, "Content-Type", "application/json"), 400, "bad_json", "the JSON ends too early"},
		{5, "NUL in an id", create(`{` + steps + `,"items":[{"id":"a\u0000b"}]}`), 400, "bad_encoding", "items[0].id has a NUL"},
		{5, "NUL in an id of a line", ndjson("{\"id\":\"a\"}\n{\"id\":\"a\\u0000\"}"), 400, "bad_encoding", "line 2|NUL"},
		{5, "a zero byte", create("{\"name\":\"a\x00\"}"), 400, "bad_encoding", "byte 10 is NUL"},
		{6, "a byte-order mark is dropped", create("\xef\xbb\xbf{" + steps + "}"), 201, good, `"state":"draft"`},
		{6, "a byte-order mark before lines is dropped", ndjson("\xef\xbb\xbf{\"id\":\"bom\"}"), 202, good, `"accepted":1`},
		{7, "UTF-16", create("\xff\xfe{\x00}\x00"), 400, "bad_encoding", "UTF-16|byte 0|send UTF-8"},
		{7, "CSV in UTF-16", csv("\xff\xfei\x00d\x00\n\x00a\x00\n\x00"), 400, "bad_encoding", "UTF-16|byte 0"},
		{8, "a field twice", create(`{` + steps + `,"name":"a","name":"b"}`), 400, "duplicate_field", "name appears twice, at byte"},
		{8, "a member twice in a line", ndjson(`{"id":"a","x":1,"x":2}`), 422, "duplicate_key", `"x" appears twice`},
		{9, "Tenant for tenant", create(`{` + steps + `,"Tenant":"acme"}`), 400, "unknown_field", "Tenant: unknown field|did you mean tenant?"},
		{10, "an unknown field", create(`{` + steps + `,"prioritty":1}`), 400, "unknown_field", "prioritty|did you mean priority?"},
		{10, "an unknown field inside", create(`{"steps":[{"action":"award","inputs":{}}]}`), 400, "unknown_field", "steps[0].inputs|did you mean input?"},
		{11, "10,001 levels", create(`{"params":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`), 400, "too_deep", "nested more than 1000 deep at byte"},
		{12, "1e999", create(`{` + steps + `,"priority":1e999}`), 400, "bad_number", "priority: 1e999"},
		{13, "a float where an int belongs", create(`{` + steps + `,"priority":1.5}`), 400, "bad_number", "priority|integer"},
		{13, "an exponent where an int belongs", create(`{` + steps + `,"concurrency":1e3}`), 400, "bad_number", "concurrency: is not a whole number|digits"},
		{14, "more than 2^53", create(`{` + steps + `,"concurrency":9007199254740993}`), 400, "bad_number", "concurrency|2^53"},
		{14, "more than 2^53 in a document is the user's business", create(`{` + steps + `,"items":[{"id":"a","data":{"n":9007199254740993}}]}`), 201, good, ""},
		{15, "a wrong content type", create(`{`+steps+`}`, "Content-Type", "text/plain"), 415, "unsupported_media_type", "text/plain|send application/json"},
		{15, "a wrong content type for items", ndjson("{}", "Content-Type", "application/xml"), 415, "unsupported_media_type", "send application/json, application/x-ndjson or text/csv"},
		{16, "no content type", create(`{`+steps+`}`, "Content-Type", ""), 415, "unsupported_media_type", "Content-Type is missing"},
		{17, "Latin-1", create(`{`+steps+`}`, "Content-Type", "application/json; charset=latin1"), 415, "unsupported_media_type", "latin1|send UTF-8"},
		{18, "a body over the limit", create(`{"name":"` + strings.Repeat("x", maxBody) + `"}`), 413, "body_too_large", "more than 1 MiB|append items"},
		{18, "items over the limit", ndjson(strings.Repeat("\n", maxUpload+1)), 413, "body_too_large", "more than 8 MiB"},
		{19, "a Content-Length that is too high", onWire(head("application/x-ndjson", "Content-Length: 500")+`{"id":"a"}`, halfClosed), 400, "cut_body", "Content-Length"},
		{19, "a Content-Length that is too high for JSON", onWire(strings.Replace(head("application/json", "Content-Length: 500"), "/{draft}/items", "", 1)+`{}`, halfClosed), 400, "cut_body", "Content-Length"},
		{20, "chunks that are cut", onWire(head("application/x-ndjson", "Transfer-Encoding: chunked")+"5\n{\"id\"", halfClosed), 400, "cut_body", ""},
		{20, "chunks without end", onWire(head("application/x-ndjson", "Transfer-Encoding: chunked"), endless), 413, "body_too_large", "8 MiB"},
		{21, "a slow body", onWire(head("application/x-ndjson", "Content-Length: 500"), trickle), 408, "too_slow", "less than 1 kB a second for 300ms"},
		{21, "a body that does not come", onWire(strings.Replace(head("application/json", "Content-Length: 500"), "/{draft}/items", "", 1), nothing), 408, "too_slow", "less than 1 kB a second"},
		{22, "a gzip bomb", withGzip(items, "application/x-ndjson", bomb), 413, "expands_too_far", "100 times"},
		{22, "a gzip bomb as JSON", withGzip(bulk, "application/json", bomb), 413, "expands_too_far", ""},
		{23, "gzip in gzip", withGzip(items, "text/csv", func() []byte { return pack(pack([]byte("id\na\n"))) }), 415, "unsupported_encoding", "packed twice"},
		{24, "brotli", ndjson("x", "Content-Encoding", "br"), 415, "unsupported_encoding", "br|gzip or zstd"},
		{24, "brotli as JSON", create("{}", "Content-Encoding", "br"), 415, "unsupported_encoding", "br|gzip or zstd"},
		{25, "cut gzip", withGzip(items, "application/x-ndjson", cutGzip), 400, "bad_gzip", "cut or damaged"},
		{25, "gzip that is none", ndjson(`{"id":"a"}`, "Content-Encoding", "gzip"), 400, "bad_gzip", "the body is not"},
		{26, "headers of more than 32 KiB", onWire(withHeader(33<<10), nothing), 431, "headers_too_large", "more than 32768|fewer or shorter"},
		{26, "many headers of more than 32 KiB", onWire(withHeaders(800), nothing), 431, "headers_too_large", "more than 32768"},
		// net/http reads no more than it is told to, and answers in plain text before any handler is asked.
		{26, "headers of more than 64 KiB", onWire(withHeader(128<<10), nothing), 431, "", ""},
		{27, "10,000 query parameters", asks("GET", bulk+"?"+strings.Repeat("a=1&", 10_000), ""), 400, "bad_query", "too many parameters"},
		{27, "an unknown parameter", asks("GET", bulk+"?stat=draft", ""), 400, "bad_query", "stat|did you mean state?"},
		{27, "a parameter twice", asks("GET", bulk+"?state=draft&state=running", ""), 400, "bad_query", "state is there 2 times"},
		{27, "a query that cannot be read", onWire("GET /v1/bulk-actions?a=%zz HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n\n", nothing), 400, "bad_query", "cannot be read"},
		{28, "..", onWire("GET /v1/../v1/bulk-actions HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n\n", nothing), 404, "no_such_route", ""},
		{28, "%2e%2e", onWire("GET /v1/%2e%2e/v1/bulk-actions HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n\n", nothing), 404, "no_such_route", ""},
		{28, "%2f", onWire("GET /v1%2fbulk-actions HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n\n", nothing), 404, "no_such_route", ""},
		{28, "%2f in an id", onWire("GET /v1/bulk-actions/..%2f..%2fetc HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n\n", nothing), 404, "", ""},
		{28, "%00", onWire("GET /v1/bulk-actions/a%00b HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n\n", nothing), 404, "no_such_route", ""},
		{29, "a wrong method", allowing("GET, POST, HEAD", asks("DELETE", bulk, "")), 405, "method_not_allowed", "DELETE|GET or POST"},
		{30, "an unknown path", asks("GET", "/v1/bulk-action", ""), 404, "no_such_route", "/v1/bulk-action|/docs"},
	}
}

// withHeader and withHeaders are requests with that many bytes of a header, and that many headers.
func withHeader(bytes int) string {
	return "GET /v1/bulk-actions HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\nX-Large: " + strings.Repeat("x", bytes) + "\n\n"
}

func withHeaders(n int) string {
	return "GET /v1/bulk-actions HTTP/1.1\nHost: localhost\nAuthorization: Bearer {key}\n" + strings.Repeat("Cookie: "+strings.Repeat("x", 40)+"\n", n) + "\n"
}

// allowing wants the header Allow.
func allowing(methods string, a ask) ask {
	return func(w *world) reply {
		w.t.Helper()
		r := a(w)
		if got := r.header.Get("Allow"); got != methods {
			w.t.Errorf("Allow: %q, want %q", got, methods)
		}
		return r
	}
}

// many are rows of NDJSON.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"u%d\"}\n", i)
	}
	return b.String()
}
