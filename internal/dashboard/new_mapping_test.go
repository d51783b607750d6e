package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// checkedIn reports whether a choice of a page is set.
func checkedIn(t *testing.T, page, name, value string) bool {
	t.Helper()
	element := regexp.MustCompile(`<input type="(radio|checkbox)" name="` + name + `" value="` + value + `"[^>]*>`).FindString(page)
	if element == "" {
		t.Fatalf("the page has no choice %s=%s", name, value)
	}
	return strings.Contains(element, " checked")
}

// What was chosen on the mapping page stays when something else on it is wrong, and the top of the page leads to that.
func TestAWrongExpressionLeavesTheOtherChoices(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=users.csv", "user_id,name,E-Mail\nu1,Anna,a@x.de\nu2,Ben,b@x.de\n")
	good := url.Values{"item_id": {"user_id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "fold_ids": {"1"}, "s0": {"whole"}}
	if status, page := b.post(at+"/mapping", good); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text(t, page))
	}
	status, page := b.post(at+"/mapping", url.Values{"item_id": {"name"}, "bad": {"refuse"}, "duplicates": {"refuse"}, "s0": {"fields"},
		"s0-0": {"to"}, "s0-0-expression": {"item.E-Mail"}, "do": {"check"}})
	if status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d: %s", status, text(t, page))
	}
	for _, set := range [][2]string{{"bad", "refuse"}, {"duplicates", "refuse"}, {"s0", "fields"}} {
		if !checkedIn(t, page, set[0], set[1]) {
			t.Errorf("%s is not %s any more", set[0], set[1])
		}
	}
	if checkedIn(t, page, "fold_ids", "1") {
		t.Error("the box is ticked again")
	}
	if !strings.Contains(page, `<option value="name" selected>`) || !strings.Contains(page, `value="item.E-Mail"`) {
		t.Errorf("the id or the expression is gone: %s", page)
	}
	top := strings.Index(page, `id="wrong"`)
	if top < 0 || top > strings.Index(page, `id="m-id"`) || !strings.Contains(page, `<a href="#e-s0-0">`) || !strings.Contains(page, `id="e-s0-0"`) {
		t.Errorf("the top of the page does not lead to the field: %s", page)
	}
	b.want(page, "Match columns not saved yet")
	if _, page = b.get(at + "/mapping"); !checkedIn(t, page, "bad", "record") || !checkedIn(t, page, "fold_ids", "1") {
		t.Error("the draft was changed")
	}
}

// A name without a value, or a value without a name, is not dropped in silence.
func TestAFieldIsNotHalfSaved(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=users.csv", "user_id,name\nu1,Anna\n")
	for want, form := range map[string]url.Values{
		"The field greeting of send has no value.":                 {"s0": {"fields"}, "s0-0": {"greeting"}},
		"What send shall receive as upper(item.name) has no name.": {"s0": {"fields"}, "s0-0": {""}, "s0-0-expression": {"upper(item.name)"}},
		"What send shall receive as item.name has no name.":        {"s0": {"fields"}, "s0-0": {""}, "s0-0-column": {"name"}},
	} {
		status, page := b.post(at+"/mapping", form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(page, `id="e-s0-0"`) {
			t.Errorf("status %d: %s", status, text(t, page))
		}
		b.want(page, want, "Correct this first")
	}
	if status, page := b.post(at+"/mapping", url.Values{"s0": {"fields"}, "s0-0": {"to"}, "s0-0-column": {"name"}, "s0-1": {""}}); status != http.StatusOK {
		t.Errorf("a free row is not wrong: %d, %s", status, text(t, page))
	}
}
