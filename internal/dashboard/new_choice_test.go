package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// A corrected list of bad rows is added to the rows that are there, and what it corrects is not bad any more.
func TestACorrectedListOfBadRowsIsAdded(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=users.csv", "\ufeffuser_id;name\r\nu1;Ana\r\n;\"Bo\r\nEk\"\r\nu3;Cy\r\n;Di\r\n")
	_, list := b.get(at + "/bad-rows.csv")
	want := "\ufeffweir_line;weir_problem;weir_fix;user_id;name\n3;"
	if !strings.HasPrefix(list, want) || !strings.Contains(list, "\n6;") {
		t.Fatalf("the list is %q, want it to begin with %q", list, want)
	}
	list = strings.Replace(list, ";;\"Bo", ";u2;\"Bo", 1) // one of the two is corrected
	_, page, shown := b.sendForm(at+"/data", "file=bad-rows.csv", list)
	b.want(page, "2 rows of bad-rows.csv added to the 4 rows that were there.", "1 bad row is corrected by it. 3 items can be used now, 2 before. 1 row is still bad.", "Rows 4", "Valid 3", "Bad rows 1", "of bad-rows.csv")
	if !strings.HasSuffix(shown, "/mapping") {
		t.Errorf("it ends at %s", shown)
	}
	_, second := b.get(at + "/bad-rows.csv")
	if !strings.Contains(second, "\n4 of file 2;") {
		t.Fatalf("the second list is %q", second)
	}
	_, page, _ = b.sendForm(at+"/data", "file=bad-rows.csv", strings.Replace(second, ";;Di", ";u4;Di", 1))
	b.want(page, "Rows 4", "Valid 4", "Bad rows 0")
	b.post(at+"/start", url.Values{"asked": {"yes"}, "shown": {"4"}})
	if got := n.Until(idOf(at), api.Awaiting); got.Counts.Total != 4 || got.BadLines != 0 {
		t.Errorf("it runs %d items and has left out %d", got.Counts.Total, got.BadLines)
	}
}

// Another file replaces nothing before a person has seen how many rows go and come.
func TestAnotherFileIsAddedOrReplacesAsAPersonChooses(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=a.csv", "id,n\nu1,1\nu2,2\nu3,3\n")
	_, page := b.get(at + "/data")
	b.want(page, "replace the 3 rows that are there")
	_, page, shown := b.sendForm(at+"/data", "file=b.csv", "id,n\nu4,4\nu1,9\n")
	b.want(page, "Add the 2 rows of b.csv, or replace what is there?", "The draft has 3 rows of a.csv", "Rows then 5: 4 valid, 1 duplicate, 0 bad", "1 of the new rows has an id that is there already",
		"Rows that go 3", "Add 2 rows", "Replace 3 rows", "Keep the data as it is")
	items := func(want int64) {
		t.Helper()
		var c api.DataCheck
		if n.Call("GET", "/v1/bulk-actions/"+idOf(at)+"/check", "", 200, &c); c.Items != want {
			t.Errorf("the draft has %d items, want %d", c.Items, want)
		}
	}
	items(3) // nothing has changed
	upload := between(page, `name="upload" value="`, `"`)
	seen := between(page, `name="seen" value="`, `"`)
	if !strings.HasSuffix(shown, "/data/choice") || upload == "" {
		t.Fatalf("it ends at %s: %s", shown, page)
	}
	_, page, _ = b.postAt(at+"/data/choice", url.Values{"upload": {upload}})
	b.want(page, "Choose whether to add the rows or to replace those that are there.")
	_, page, _ = b.postAt(at+"/data/choice", url.Values{"upload": {upload}, "seen": {seen}, "do": {"add"}})
	b.want(page, "2 rows of b.csv added to the 3 rows that were there.", "Rows 5", "Valid 4", "Show 1 duplicate", "line 3 of b.csv", "Download duplicates.csv")
	_, file := b.get(at + "/duplicates.csv")
	if want := "line,id,first_line\n3 of file 2,u1,2\n"; file != want {
		t.Errorf("the duplicates are %q, want %q", file, want)
	}
	_, page, _ = b.sendForm(at+"/data", "file=c.csv", "id,n\nu9,4\n")
	_, page, _ = b.postAt(at+"/data/choice", url.Values{"upload": {between(page, `name="upload" value="`, `"`)}, "seen": {seen}, "do": {"replace"}})
	b.want(page, "Someone changed this draft after you opened the page.")
	_, page, _ = b.postAt(at+"/data/choice", url.Values{"upload": {between(page, `name="upload" value="`, `"`)}, "do": {"replace"}})
	b.want(page, "5 rows were replaced by the 1 row of c.csv.", "Rows 1")
	items(1)
	_, page, _ = b.postAt(at+"/source", url.Values{"url": {"http://127.0.0.1:1/x"}})
	b.want(page, "The source would replace the rows of the file.", "Replace the 1 row of c.csv")
	items(1)
}

// replaceData sends other data, and chooses that it replaces what is there.
func (b *browser) replaceData(at string, fields ...string) {
	b.t.Helper()
	_, page, _ := b.sendForm(at+"/data", fields...)
	b.postAt(at+"/data/choice", url.Values{"upload": {between(page, `name="upload" value="`, `"`)}, "do": {"replace"}})
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	out, _, _ := strings.Cut(rest, after)
	return out
}

func TestIdsThatDifferOnlyInCapitalsAreHinted(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	_, page, _ := b.sendForm(at+"/data", "file=a.csv", "id,n\nAna@x.de,1\nana@x.de,2\nbo,3\n bo,4\nbo,5\n")
	b.want(page, "2 ids differ from others only in capitals or spaces.", "ana@x.de in line 3 and line 2", "a customer with both gets everything twice", "Valid 4", "Duplicate ids 1")
}
