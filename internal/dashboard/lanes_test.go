package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// inTwoHours is a time as a browser sends it.
func inTwoHours() string { return time.Now().Add(2 * time.Hour).Format("2006-01-02T15:04") }

// laneOf returns the lane that has work, as in p00/send.
func laneOf(t *testing.T, b *browser) string {
	t.Helper()
	page := b.until("/ui/lanes", "Lanes 1 of")
	found := regexp.MustCompile(`/ui/lanes\?lane=(p\d+)(?:/|%2[fF])send`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no lane has a link:\n%s", page)
	}
	return found[1] + "/send"
}

func TestALaneShowsItsWorkersAndIsPinnedWithAReason(t *testing.T) {
	_, b := working(t)
	lane := laneOf(t, b)
	_, page := b.get("/ui/lanes?lane=" + lane)
	b.want(page, "There are enough workers", "send in p0", "Pin the workers", "Nodes", "leads, p00 p01", "Scaling of all lanes", "weir lanes",
		"weir lanes "+lane)
	pin := "/ui/lanes/" + lane + "/pin"
	status, page := b.post(pin, url.Values{"workers": {"-1"}, "until": {"soon"}, "reason": {""}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("faults: status %d", status)
	}
	b.want(page, "Write a whole number. 0 stops the lane.", "Give the date and the time", "Give a reason.")
	status, page = b.post(pin, url.Values{"workers": {"3"}, "until": {"2001-01-01T10:00"}, "reason": {"sale"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a time that has passed: status %d", status)
	}
	b.want(page, "is not within the next year")
	_, page = b.post(pin, url.Values{"workers": {"3"}, "until": {inTwoHours()}, "reason": {"flash <b>sale</b>"}})
	b.want(page, lane+" has 3 workers until", "weir pin "+lane+" --workers 3 --for", "“flash <b>sale</b>”", "Let it follow its load")
	_, page = b.post("/ui/lanes/"+lane+"/unpin", nil)
	b.want(page, lane+" follows its load again.", "weir unpin "+lane)
}

func TestALaneIsStoppedOnlyAfterAQuestion(t *testing.T) {
	n, b := working(t)
	lane := laneOf(t, b)
	stop := url.Values{"workers": {"0"}, "until": {inTwoHours()}, "reason": {"the service moves"}}
	_, page := b.post("/ui/lanes/"+lane+"/pin", stop)
	b.want(page, "Stop the lane "+lane+"?", "All work of the lane until", "Keep it running")
	if !strings.Contains(page, `value="the service moves"`) {
		t.Error("the reason is not kept")
	}
	var lanes api.Page[api.Lane]
	n.Call("GET", "/v1/lanes", "", 200, &lanes)
	for _, l := range lanes.Data {
		if l.Pin != nil {
			t.Error("it was pinned before the answer")
		}
	}
	stop.Set("sure", "yes")
	_, page = b.post("/ui/lanes/"+lane+"/pin", stop)
	b.want(page, lane+" has 0 workers until")
}

func TestScalingIsPausedWithAReasonResumedAndChanged(t *testing.T) {
	n, b := working(t)
	status, page := b.post("/ui/lanes/pause", nil)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason the status is %d", status)
	}
	b.want(page, "Give a reason.")
	_, page = b.post("/ui/lanes/pause", url.Values{"pause": {"slow calls"}})
	b.want(page, "Scaling is paused: slow calls.", "weir scaling --pause 'slow calls'", "Resume scaling")
	_, page = b.post("/ui/lanes/resume", nil)
	b.want(page, "Workers follow the load again.", "Pause scaling")
	status, page = b.post("/ui/lanes/scaling", url.Values{"policy": {"off"}, "min": {"few"}, "drain": {"30"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("faults: status %d", status)
	}
	b.want(page, "Write a whole number, or leave it empty for the default.", "Write a time with its unit")
	if !strings.Contains(page, `value="few"`) || !strings.Contains(page, `<option value="off" selected>`) {
		t.Error("what was typed is gone")
	}
	_, page = b.post("/ui/lanes/scaling", url.Values{"policy": {"littles-law"}, "min": {"2"}, "max": {"40"}, "drain": {"45s"}})
	b.want(page, "The scaling settings are changed.", "weir scaling --min 2 --max 40 --drain 45s --policy littles-law")
	var got api.ScalingSettings
	if n.Call("GET", "/v1/scaling", "", 200, &got); got.Min != 2 || got.Max != 40 || got.Policy != "littles-law" {
		t.Errorf("the settings are %+v", got)
	}
}

func TestLanesWithoutWorkTeachAndScopesAreKept(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}, Closed: true})
	b := newBrowser(t, n)
	b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read}).Key()}})
	_, page := b.get("/ui/lanes")
	b.want(page, "No lane has work now.", "To pin workers or to change how they are decided: Your key lacks the scope control")
	b.lacks(page, "Pause scaling")
	if status, _ := b.post("/ui/lanes/pause", url.Values{"pause": {"x"}}); status != http.StatusForbidden {
		t.Errorf("a pause with the scope read: status %d", status)
	}
}
