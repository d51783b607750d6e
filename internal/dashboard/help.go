package dashboard

import "context"

// helpPages registers the page that explains keys and words.
func (d *Dashboard) helpPages() {
	d.page("/help", "help", func(context.Context, *visit) (content, error) {
		return content{Title: "Help", Page: helpPage{Keys: keys, Words: helpWords}}, nil
	})
}

type helpPage struct{ Keys, Words []fact }

var keys = []fact{
	{"/", "Find an item or a bulk action"}, {"?", "This page"}, {"g o", "Overview"}, {"g a", "Bulk actions"}, {"g i", "Items"},
	{"g d", "Failed items"}, {"g s", "Schedules"}, {"g r", "Resources"}, {"g p", "Lanes"}, {"n", "New bulk action"},
	{"j, k", "Next and previous row; Enter opens it"}, {"p", "To the button that pauses or resumes; Enter presses it"}, {"Esc", "Close a menu, leave a field"},
}

var helpWords = []fact{
	{"Bulk action", "One job over many items: the same steps for each of them."},
	{"Item", "One target of a bulk action, such as a user. It ends done, failed or cancelled, exactly once."},
	{"Step", "One action of a bulk action. An item that fails at a step goes no further."},
	{"Canary", "A small part of the items that runs first. The rest waits until a person approves it."},
	{"Ready", "Waits for its turn: nothing is wrong with it."},
	{"Waiting", "Will be tried again after a failed call, at a time that is known."},
	{"In flight", "Is being sent now, or its answer is on the way."},
	{"Failed", "Has used up its attempts, or the service said that trying again is of no use. In the API, failed items that were not dealt with are the DLQ."},
	{"Left out", "A condition of a step was not met: nothing was sent."},
	{"Resource", "A service that actions call, with its limits: a rate, and calls at once (in the API: concurrency)."},
	{"Circuit", "Opens when a service fails: calls stop, and single probes find out when it works again. Nothing is lost meanwhile."},
	{"Lane", "One resource in one partition: a queue with workers of its own. Tasks per worker is PWQD in the API."},
	{"Entitled", "The share that a tenant may claim, by its weight. What it does not need is lent to others."},
	{"Idempotency key", "Goes with every call of an item, the same each time, so that the service can tell a repeat from a new call."},
}
