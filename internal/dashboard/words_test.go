package dashboard

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestASentenceLeavesNamesAsTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		"this cannot be done now": "This cannot be done now.", "no, it is not": "No, it is not.", "is it so?": "Is it so?", "": "",
		"send-message has no undo": "send-message has no undo.", "rate: missing unit": "rate: missing unit.", "ba_01k is draft": "ba_01k is draft.",
		"items[0].id is empty": "items[0].id is empty.", "été is not a tenant": "été is not a tenant.", "eMail was not found": "eMail was not found.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
	if p := paramOf("customer_id", []byte(`7`)); p.Title != "" {
		t.Errorf("the parameter customer_id is given the title %q", p.Title)
	}
}

// A text from elsewhere may be a whole sentence: templates end it with stop. Numbers and times need no such care.
func TestTemplatesWriteNoFullStopAfterATextFromElsewhere(t *testing.T) {
	pages, err := files.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	after := regexp.MustCompile(`\{\{([^}]*)\}\}\.([\s<]|$)`)
	ours := regexp.MustCompile(`^(end|else|with |items |plural |count |percent |template "time"|\$f\.Clock\.Time )`)
	for _, page := range pages {
		raw, err := files.ReadFile("templates/" + page.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range after.FindAllStringSubmatch(string(raw), -1) {
			if !ours.MatchString(found[1]) {
				t.Errorf("%s has {{%s}}. with a full stop: write {{stop %s}}", page.Name(), found[1], found[1])
			}
		}
	}
}

func TestReasonsThatAreSentencesEndOnce(t *testing.T) {
	page := bulkPage{}
	page.why(&api.Progress{WaitingOn: []api.Cause{{Text: "The circuit is open.", Detail: "Connection refused."}, {Text: "Its rate."}, {Text: "No workers"}}})
	if page.Why != "The circuit is open: Connection refused." || page.WhyMore != "Its rate. No workers. " {
		t.Errorf("it waits on %q, %q", page.Why, page.WhyMore)
	}
	todo := todos([]line{{BulkAction: api.BulkAction{State: api.Running, LastError: &api.LastError{Failing: true}}, Bar: "waiting", Waiting: "The circuit is open."}})
	if len(todo) != 1 || todo[0].Text != "The circuit is open. 0\u00a0items wait; none is lost." {
		t.Errorf("it needs %+v", todo)
	}
	status := &api.ResourceStatus{Outage: &api.Outage{Calls: 3, Failed: 3, Code: "Sold out."}}
	if got := outageOf(&visit{}, status).Text; !strings.HasPrefix(got, "3 of 3\u00a0calls failed, the last with Sold out. 0\u00a0items") {
		t.Errorf("the outage is told as %q", got)
	}
}
