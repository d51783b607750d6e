package dashboard_test

import (
	"net/url"
	"testing"

	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// A column with a decimal comma is not read as a number by a guess: the page offers to.
func TestADecimalCommaIsOffered(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=a.csv", "id;preis\nu1;2,5\nu2;1.234,50\nu3;7\n")
	form := url.Values{"item_id": {"id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "s0": {"fields"}, "s0-0": {"price"}, "s0-0-column": {"preis"}, "s0-0-as": {"float"}}
	_, page, _ := b.postAt(at+"/mapping", form)
	b.want(page, "2 of 3 rows cannot be used.", "it has a comma", "Values such as 2,5 have a comma.", "Read it as a decimal comma")
	form.Set("comma", "s0-0")
	_, page, _ = b.postAt(at+"/mapping", form)
	b.want(page, "All 3 rows can be used.", `{"price":1234.5}`)
}
