package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// done is what a form has done.
type done struct {
	// To is the page that follows, below the root.
	To string
	// Show is the page that answers at once, instead of To: what it says must not be in an address or a cookie.
	Show *pageAgain
	// Note says on that page what was done. Its text may be empty: then nothing is said.
	Note note
}

// note says what a form has done, what follows, and how to do the same without a page.
type note struct {
	Text string   `json:"text"`
	Then string   `json:"then,omitempty"`
	Weir []string `json:"weir,omitempty"`
	Curl []string `json:"curl,omitempty"`
	// Bad says that it did not work.
	Bad bool `json:"bad,omitempty"`
	// At is when it was done. The page lives on below the note, so that it has to tell when it was true.
	At time.Time `json:"at"`
}

// pageAgain is the page of a form that is shown again, with what is wrong in it.
type pageAgain struct {
	name    string
	content content
}

// Error implements error.
func (p *pageAgain) Error() string { return "the form is shown again" }

// pageInstead is a page that is shown instead of what was asked for, with a status of its own.
type pageInstead struct {
	pageAgain
	status int
}

// Error implements error.
func (p *pageInstead) Error() string { return "another page is shown" }

// pageElsewhere means that another page has what was asked for.
type pageElsewhere struct{ to string }

// Error implements error.
func (p *pageElsewhere) Error() string { return "another page has it" }

// form registers what a form does, by its path below the root.
func (d *Dashboard) form(path string, act func(context.Context, *visit) (done, error)) {
	d.search(path, func(ctx context.Context, v *visit) (done, error) {
		if d.opts.ReadOnly {
			return done{}, errReadOnly
		}
		return act(ctx, v)
	})
}

// search registers a form that changes nothing: it is sent because what is typed must not be in an address.
func (d *Dashboard) search(path string, act func(context.Context, *visit) (done, error)) {
	d.mux.HandleFunc("POST "+Root+path, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		v, err := d.visit(r)
		var did done
		if err == nil {
			did, err = act(r.Context(), v)
		}
		if err != nil {
			d.fail(w, v, err)
			return
		}
		if did.Show != nil {
			d.render(w, v, did.Show.name, http.StatusOK, did.Show.content)
			return
		}
		d.follow(w, v, did)
	})
}

// errReadOnly refuses forms where the pages only show.
var errReadOnly = errors.New("the pages of this server only show: its operator has switched changes off here")

// follow goes on to the page after a form, which shows the note.
func (d *Dashboard) follow(w http.ResponseWriter, v *visit, did done) {
	if did.Note.Text != "" {
		if did.Note.Curl == nil {
			did.Note.Curl = v.calls.did
		}
		if did.Note.Weir == nil {
			did.Note.Weir = v.calls.didWeir
		}
		did.Note.At = time.Now()
		d.keepNote(w, v.Request, did.Note)
	}
	http.Redirect(w, v.Request, v.root+did.To, http.StatusSeeOther)
}

// noteCookie holds a note until the next page shows it.
const (
	noteCookie = "weir_note"
	noteIn     = "dashboard/note"
	mostNote   = 2500 // bytes: a browser keeps 4096 of a cookie
)

// keepNote keeps a note for the next page. A note that does not fit a cookie loses its commands.
func (d *Dashboard) keepNote(w http.ResponseWriter, r *http.Request, n note) {
	raw, err := json.Marshal(n)
	if err == nil && len(raw) > mostNote {
		n.Curl, n.Weir = nil, nil
		raw, err = json.Marshal(n)
	}
	if err != nil || len(raw) > mostNote {
		return
	}
	if sealed, err := d.opts.Sealer.Seal(noteIn, raw); err == nil {
		http.SetCookie(w, d.cookie(r, noteCookie, sealed, time.Minute))
	}
}

// takeNote returns the note of the form before, once.
func (d *Dashboard) takeNote(w http.ResponseWriter, r *http.Request) *note {
	cookie, err := r.Cookie(noteCookie)
	if err != nil || r.Method != http.MethodGet {
		return nil
	}
	http.SetCookie(w, d.cookie(r, noteCookie, "", 0))
	plain, err := d.opts.Sealer.Open(noteIn, cookie.Value)
	var n note
	if err != nil || json.Unmarshal(plain, &n) != nil {
		return nil
	}
	return &n
}

// question asks a person before something that cannot be taken back, on a page of its own: template confirm.
type question struct {
	Title string
	// Up is the page above, and where the way out leads.
	Up, UpName string
	Facts      []fact
	Text       string // the cheaper alternative, and what cannot be taken back
	Hidden     []fact // fields to send along
	// Items is the number of items that it is about. Above [typeAbove] it has to be typed.
	Items int64
	// Left is how many items have not ended, if Items may also rise while no item is added: as long as Left is not more
	// than the page has shown, the question is the same. 0: Items alone counts.
	Left int64
	// Button repeats the verb and the number; Stay says what stays if it is not pressed.
	Button, Stay string
	// Needed says that a reason has to be given.
	Needed bool
	// NoReason asks for no reason: the API would not keep it.
	NoReason bool
	Scope    string // that the button needs
	// Safe says that it destroys nothing: its button is not red.
	Safe bool
	// Live says that its numbers are kept up to date while the page is open.
	Live bool
	// Over says why it is too late for the question; empty: it is not.
	Over string

	Typed, Reason           string
	TypedFault, ReasonFault string
	Fault                   string // what has changed since it was asked
	Action                  string
	Type                    bool
}

// fact is a name and a value.
type fact struct{ Name, Value string }

// typeAbove is the number of items above which a dangerous verb asks for the number to be typed.
const typeAbove = 10_000

// ask makes the page of a question. The form is sent to the address of the page.
func (v *visit) ask(q *question, nav string) content {
	q.Type, q.Action = q.Items > typeAbove, v.root+strings.TrimPrefix(v.URL.Path, Root)
	q.Typed, q.Reason = v.FormValue("items"), v.FormValue("reason")
	return content{Title: q.Title, Nav: nav, Page: q, Still: !q.Live}
}

// answered reports whether a form confirms a question. If not, the error shows the page again.
func (v *visit) answered(q *question, nav string) error {
	c := v.ask(q, nav)
	shown, err := strconv.ParseInt(v.FormValue("shown"), 10, 64)
	// What destroys something may come to fewer items by the time it is confirmed, which have ended since, but not to more.
	changed := err == nil && (shown < q.Items || q.Safe && shown != q.Items)
	if left, noLeft := strconv.ParseInt(v.FormValue("left"), 10, 64); noLeft == nil && q.Left > 0 {
		changed = left < q.Left
	}
	if changed {
		q.Fault = fmt.Sprintf("It is %s by now; the page had shown %s.", format.Items(q.Items), format.Count(shown))
	}
	if q.Type {
		want := q.Items
		if err == nil && !changed {
			want = shown
		}
		typed, err := strconv.ParseInt(strings.NewReplacer(",", "", " ", "", "\u00a0", "").Replace(q.Typed), 10, 64)
		switch {
		case q.Typed == "":
			q.TypedFault = "Type the number of items, " + format.Count(q.Items) + "."
		case err != nil || typed != want:
			q.TypedFault = "The number of items is " + format.Count(q.Items) + "."
		}
	}
	if q.Needed && strings.TrimSpace(q.Reason) == "" {
		q.ReasonFault = "Give a reason. It is kept in the audit log."
	}
	if q.TypedFault == "" && q.ReasonFault == "" && q.Fault == "" {
		return nil
	}
	return &pageAgain{"confirm", c}
}

// escape writes a text as one part of a path.
func escape(s string) string { return url.PathEscape(s) }

// onceKey returns the value of the part "once" of a form: what was sent, or a new one.
func (v *visit) onceKey() string {
	if key := v.FormValue("once"); key != "" {
		return key
	}
	return rand.Text()
}

// once makes a request of a form do its work once, however often the form is sent: the form has a part "once".
func (v *visit) once(ctx context.Context) context.Context {
	if key := v.FormValue("once"); key != "" {
		return client.WithKey(ctx, "form-"+key)
	}
	return ctx
}

// changedSince says that a form was filled in over values that are not those of now.
const changedSince = "Someone else changed this after you opened the page. Your input is kept: check the other fields, then save again."

// seenField is the field that holds what a form showed before anything was typed.
const seenField = "seen"

// seenOf sums up the values that a form shows, so that it can tell later whether they have changed.
func seenOf(values ...string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", values)
	return strconv.FormatUint(h.Sum64(), 36)
}

// stale reports whether a form was made of other values than those of now.
func (v *visit) stale(now string) bool {
	was := v.FormValue(seenField)
	return was != "" && was != now
}
