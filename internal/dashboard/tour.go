package dashboard

import (
	"net/http"
	"strings"
	"time"
)

// tip is a note of the tour, in the margin of what it explains.
type tip struct {
	Title, Text string
	// Link is the page to see next, and Go what the link says. Both may be empty.
	Link, Go string
}

// tips explains to newcomers what weir dev shows, by template and place on it. They name bulk actions and services of
// that demo; its tests hold them together.
var tips = map[string]tip{
	"overview.stats": {"Three tenants share one server",
		"They are called flood, acme and beta. Everything here is made up and in memory: press what you like. Press New bulk " +
			"action, choose the template Price change, and paste two ids: user-1 and user-42.",
		"/new", "Make a bulk action"},
	"overview.todo": {"This is where you are needed",
		"“New price list” of beta has tried a hundred of its items, and asks. Press Approve the rest. “Delivery texts” of acme is here " +
			"whenever its SMS service does not answer: weir stops calling, loses nothing, and goes on by itself.",
		"/resources?of=demo.sms", "See the service"},
	"overview.list": {"Small ones pass the flood",
		"“Winter sale” of flood has 60,000 items and takes minutes. “Order updates” of acme came later and is done: each tenant " +
			"gets its share.",
		"/resources?of=demo.push", "See who gets how much"},
	"overview.more": {"This one has ended with failures",
		"Open “Loyalty statement” and its Report. To see what happened to one person, type user-42 into the search field at the " +
			"top, or on the page Items.",
		"/failed", "See all failures by kind"},

	"bulk-action.progress": {"Every item is counted once",
		"The numbers below the bar always add up. If it runs, press Pause, look, and press Resume: calls under way end, and " +
			"nothing is lost.", "", ""},
	"bulk-action.why": {"Why it is not faster",
		"This line says it in words. Where it is the rate of a service, you can change that rate: the page shows the effect before.",
		"/resources", "See the services"},
	"bulk-action.errors": {"What fails, by kind",
		"The same fault of many items is one line. After the end, Retry runs only the items that failed.", "", ""},

	"resources.limits": {"What each service can take",
		"demo.push allows 150 items a second, and three tenants want more. weir never exceeds a limit. Choose a name to see its " +
			"speed and its shares.", "", ""},
	"resources.shares": {"Shares",
		"Who has less to do gets all of it at once; the others share the rest by weight. Watch this table when “Order updates” " +
			"or “Trial reminders” runs, twice a minute.",
		"/settings/tenants", "Give a tenant more weight"},

	"lanes.lanes": {"Workers follow the load",
		"A lane is the queue of one service. Once a second weir decides how many calls may run at once. Choose a lane to read " +
			"each decision with its numbers.", "", ""},

	"failed.groups": {"Nothing is lost",
		"These items failed for good: trying again by itself would not help. Choose a code to see three of them, to retry them, " +
			"or to discard them.", "", ""},
}

// tourCookie remembers that the tour was closed.
const tourCookie = "weir_tour"

// toured says which templates have notes of the tour.
func toured(name string) bool {
	for at := range tips {
		if strings.HasPrefix(at, name+".") {
			return true
		}
	}
	return false
}

// tourClosed reports whether a person has closed the tour.
func tourClosed(r *http.Request) bool {
	cookie, err := r.Cookie(tourCookie)
	return err == nil && cookie.Value == "closed"
}

// setTour closes the tour, or opens it again.
func (d *Dashboard) setTour(w http.ResponseWriter, r *http.Request) {
	switch to := r.PostFormValue("tour"); to {
	case "closed":
		http.SetCookie(w, d.cookie(r, tourCookie, to, 365*24*time.Hour))
	case "open":
		http.SetCookie(w, d.cookie(r, tourCookie, "", 0))
	}
	http.Redirect(w, r, d.next(r.PostFormValue("next")), http.StatusSeeOther)
}

// Tip returns the note of the tour at a place, nil while the tour is closed or the server has no tour.
func (f *frame) Tip(at string) *tip {
	if t, ok := tips[at]; ok && f.Tour {
		return &t
	}
	return nil
}
