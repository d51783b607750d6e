package dev

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/edge/direct"
	"go.uber.org/goleak"
)

// lingering is a goroutine of tusd that waits a little longer than its request.
const lingering = "github.com/tus/tusd/v2/pkg/handler.newDelayedContext.func1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(lingering)) }

// stage is a demo in a bubble, where nothing listens and an hour takes seconds.
type stage struct {
	*dev
	t *testing.T
}

// begin tells the story until the test ends.
func begin(t *testing.T, o demo.Outage) *stage {
	t.Helper()
	d, err := newDev(t.Context(), "http://127.0.0.1:8080", options{story: true, outage: o})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.tell(t.Context(), &story{service: d.node.Service(), client: d.client}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
	return &stage{d, t}
}

// page returns a page, or the one after a form.
func (s *stage) page(method, path string, form url.Values) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := (&http.Client{Transport: direct.Transport{Handler: s.node.Handler()}}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		s.t.Fatalf("%s %s: %d, %v: %s", method, path, resp.StatusCode, err, raw)
	}
	return string(raw)
}

// all returns the bulk actions that there are.
func (s *stage) all() (list []api.BulkAction) {
	s.t.Helper()
	for b, err := range s.client.List(s.t.Context(), client.Filter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// newest returns the newest bulk action of a scene.
func (s *stage) newest(name string) api.BulkAction {
	s.t.Helper()
	for _, b := range s.all() {
		if b.Name == name {
			return b
		}
	}
	s.t.Fatalf("no bulk action %q", name)
	return api.BulkAction{}
}

func (s *stage) circuit(resource string) string {
	s.t.Helper()
	r, err := s.client.Resources().Get(s.t.Context(), resource)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Circuit
}

func TestTheFirstMinuteShowsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, smsOutage)
		time.Sleep(7 * time.Second)
		tenants := map[string]bool{}
		for _, b := range s.all() {
			tenants[b.Tenant] = true
		}
		if len(tenants) != 3 {
			t.Errorf("tenants %v, want three", tenants)
		}
		for name, want := range map[string]api.State{"Winter sale": api.Running, "New price list": api.Awaiting,
			"Delivery texts": api.Running, "Loyalty statement": api.Completed} {
			if b := s.newest(name); b.State != want {
				t.Errorf("%s is %s, want %s", name, b.State, want)
			}
		}
		if c := s.circuit(demo.SMS); c == "closed" {
			t.Error("the circuit of demo.sms is closed during the incident")
		}
		overview := s.page("GET", "/ui/", nil)
		for _, want := range []string{"New price list</a> has finished its canary", "Delivery texts</a> does not move", "Close the tour"} {
			if !strings.Contains(overview, want) {
				t.Errorf("the overview lacks %q", want)
			}
		}
		for _, named := range regexp.MustCompile(`“([^”]+)”`).FindAllStringSubmatch(overview+s.page("GET", "/ui/resources?of=demo.push", nil), -1) {
			if !slices.ContainsFunc(scenes, func(sc scene) bool { return sc.name == named[1] }) {
				t.Errorf("the tour speaks of %q, which the story has not", named[1])
			}
		}
		time.Sleep(time.Minute)
		if c := s.circuit(demo.SMS); c != "closed" {
			t.Errorf("the circuit of demo.sms is %s after the incident", c)
		}
	})
}

func TestTheFloodDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, demo.Outage{})
		time.Sleep(30 * time.Second)
		flood := s.newest("Winter sale")
		for _, name := range []string{"Order updates", "Trial reminders"} {
			if b := s.newest(name); b.State != api.Completed || !b.CreatedAt.After(flood.CreatedAt) {
				t.Errorf("%s is %s half a minute after the start", name, b.State)
			}
		}
		if done := flood.Counts.Done; flood.State != api.Running || done < 1000 || done > 4000 {
			t.Errorf("the flood is %s with %d items done", flood.State, done)
		}
	})
}

func TestAPersonApprovesTheCanaryAndFindsUser42(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, demo.Outage{})
		time.Sleep(7 * time.Second)
		first := s.newest("New price list")
		time.Sleep(10 * time.Minute) // it waits for a person
		if b := s.newest("New price list"); b.ID != first.ID || b.State != api.Awaiting {
			t.Fatalf("the canary is %s after ten minutes, %s at first", b.State, first.ID)
		}
		s.page("POST", "/ui/bulk-actions/"+first.ID+"/approve", nil)
		time.Sleep(55 * time.Second)
		if b := s.newest("New price list"); b.ID != first.ID || b.State != api.Completed || b.Counts.Done < 1800 {
			t.Errorf("the approved one is %s with %+v", b.State, b.Counts)
		}
		time.Sleep(210 * time.Second)
		if b := s.newest("New price list"); b.ID == first.ID || b.State != api.Awaiting {
			t.Errorf("%s is %s, want another one that waits", b.ID, b.State)
		}
		report, err := s.client.Report(t.Context(), s.newest("Loyalty statement").ID)
		if err != nil || report.Counts.Failed == 0 || len(report.Errors) < 2 {
			t.Errorf("report %+v, %v: want failures of two kinds", report, err)
		}
		found := s.page("POST", "/ui/items", url.Values{"id": {"user-42"}})
		if !strings.Contains(found, "Loyalty statement") || !strings.Contains(found, "bounced") {
			t.Errorf("nothing is said about user-42: %s", found)
		}
	})
}

func TestTheStoryNeitherEndsNorGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, smsOutage)
		floods := map[string]bool{}
		for range 20 {
			time.Sleep(time.Minute)
			s.page("GET", "/ui/", nil) // while what is over is removed
			list := s.all()
			if len(list) > 17 { // with those of the panel, twenty: what the overview shows
				t.Errorf("%d bulk actions are kept", len(list))
			}
			for _, b := range list {
				if b.Name == "Winter sale" {
					floods[b.ID] = true
				}
			}
			for _, name := range []string{"Winter sale", "New price list", "Delivery texts"} {
				if b := s.newest(name); b.State.Final() && time.Since(b.FinishedAt) > 10*time.Second {
					t.Errorf("%s is over, and no other one comes", name)
				}
			}
		}
		if len(floods) < 2 {
			t.Errorf("%d floods in 20 minutes, want one after the other", len(floods))
		}
	})
}

func TestACampaignManagerHasATemplateAndASchedule(t *testing.T) {
	d, err := openDev(t.Context(), "127.0.0.1:0", options{story: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.end(); err != nil {
			t.Error(err)
		}
	}()
	if m, err := d.client.Templates().Get(t.Context(), "price-change"); err != nil || m.Title != "Price change" {
		t.Errorf("template %+v, %v", m, err)
	}
	if items := paste(t, d, "user-1\nuser-42\n"); items != 2 {
		t.Errorf("%d of two pasted ids can be used", items)
	}
	for s, err := range d.client.Schedules().List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Next) == 0 || time.Until(s.Next[0]) > 5*time.Minute {
			t.Errorf("%s fires next at %v", s.Name, s.Next)
		}
		b, err := d.client.Create(t.Context(), s.BulkAction) // as the schedule does
		if err != nil {
			t.Fatal(err)
		}
		check, err := d.client.Check(t.Context(), b.ID, 10)
		if err != nil || check.Items < 100 || check.BadLines > 0 {
			t.Errorf("the items of the schedule: %+v, %v", check, err)
		}
		return
	}
	t.Error("no schedule")
}

func TestTheLinkToThePagesComesFirst(t *testing.T) {
	lines := addresses(false, "http://127.0.0.1:8080", false)
	if got := lines[0]; !strings.Contains(got, " http://127.0.0.1:8080/ui/ ") {
		t.Errorf("the first line is %q, want the link to the pages", got)
	}
	if all := strings.Join(lines, "\n"); strings.Count(all, "/ui/") != 1 || !strings.Contains(all, "API at /v1") {
		t.Errorf("want one link, and the address of the API:\n%s", all)
	}
}

// paste makes a draft from the template in the wizard, and returns how many of some pasted rows can be used.
func paste(t *testing.T, d *dev, rows string) int64 {
	t.Helper()
	send := func(path, kind string, body io.Reader) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		resp, err := (direct.Transport{Handler: d.node.Handler()}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("POST %s = %d", path, resp.StatusCode)
		}
		return resp.Header.Get("Location")
	}
	to := send("/ui/new", "application/x-www-form-urlencoded", strings.NewReader("template=price-change&tenant=beta"))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := errors.Join(form.WriteField("rows", rows), form.Close()); err != nil {
		t.Fatal(err)
	}
	send(to, form.FormDataContentType(), &body)
	check, err := d.client.Check(t.Context(), strings.Split(to, "/")[3], 10)
	if err != nil {
		t.Fatal(err)
	}
	return check.Items
}
