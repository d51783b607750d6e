package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// service is the example as a process of its own.
type service struct {
	t    *testing.T
	path string
	env  []string
	url  string
	cmd  *exec.Cmd
	log  *bytes.Buffer
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, path: filepath.Join(t.TempDir(), "embedded")}
	if out, err := exec.Command("go", "build", "-ldflags=-s", "-o", s.path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close() // the example listens there
	s.url, s.env = "http://"+at, append(os.Environ(), "LISTEN="+at, "DATA="+t.TempDir())
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Log(s.log)
		}
	})
	return s
}

// start runs the process, and waits until it answers.
func (s *service) start() {
	s.t.Helper()
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command(s.path)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
		resp, err := http.Get(s.url + "/bulk/healthz")
		if err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("it does not answer: %v", err)
		}
	}
}

// kill ends the process as a loss of power would.
func (s *service) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // it was killed
}

// person is a browser, and a program with the cookie of the same person.
type person struct {
	*service
	web *http.Client
	api *client.Client
}

// signIn goes through the login of the example. Without a name it is a person who does not.
func (s *service) signIn(name string) person {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p := person{service: s, web: &http.Client{Jar: jar}}
	if p.api, err = client.New(client.Options{Server: s.url + "/bulk", HTTP: p.web, Tries: 1}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.web.CloseIdleConnections)
	if name != "" {
		resp, err := p.web.PostForm(s.url+"/login", url.Values{"user": {name}, "password": {name}})
		if err != nil {
			s.t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK || resp.Request.URL.Path != "/bulk/ui/" {
			s.t.Fatalf("signing in as %s ends at %s with %s", name, resp.Request.URL, resp.Status)
		}
	}
	return p
}

// page opens a page, and returns where the browser came to.
func (p person) page(path string) (status int, at, text string) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	resp, err := p.web.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, resp.Request.URL.Path, string(raw)
}

// until watches a bulk action until it has a state and as many items done.
func (p person) until(id string, state api.State, done int64) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var last api.Progress
	for now, err := range p.api.Watch(ctx, id) {
		if err != nil {
			p.t.Fatal(err)
		}
		if last = now; now.State == state && now.Counts.Done >= done {
			return
		}
	}
	p.t.Fatalf("%s is %s with %+v, want %s and %d done", id, last.State, last.Counts, state, done)
}

func TestTheServiceHasBulkActionsOfItsOwnUsers(t *testing.T) {
	s := newService(t)
	s.start()
	ann := s.signIn("ann")
	if status, at, text := ann.page("/bulk/"); status != http.StatusOK || at != "/bulk/ui/" || !strings.Contains(text, `href="/bulk/ui/bulk-actions"`) {
		t.Errorf("the overview is at %s, with %d:\n%s", at, status, text)
	}
	const items = 400
	var all []api.Item
	for i := range items {
		all = append(all, api.Item{ID: fmt.Sprint("u", i)})
	}
	b, err := ann.api.Create(t.Context(), api.NewBulkAction{Name: "greetings", Steps: []api.Step{{Action: "greet"}}, Items: all, Start: true,
		Rules: api.Rules{Rates: map[string]api.Rate{"greet": 200}}})
	if err != nil {
		t.Fatal(err)
	}
	if b.Tenant != "acme" || b.Links.Self != "/bulk/v1/bulk-actions/"+b.ID {
		t.Errorf("it is of tenant %s, and at %s", b.Tenant, b.Links.Self)
	}
	if _, _, text := ann.page("/bulk/ui/bulk-actions"); !strings.Contains(text, "greetings") {
		t.Errorf("the list does not have it:\n%s", text)
	}
	ann.until(b.ID, api.Running, 1)
	s.kill()
	s.start()
	if _, err := ann.api.Get(t.Context(), b.ID); !client.IsCode(err, "no_credentials") {
		t.Errorf("a session that the restart has ended: %v, want no_credentials", err)
	}
	ann = s.signIn("ann")
	ann.until(b.ID, api.Completed, items)
	others(t, s, b.ID)
}

// others see nothing of it.
func others(t *testing.T, s *service, id string) {
	ben, anyone := s.signIn("ben"), s.signIn("")
	if _, err := ben.api.Get(t.Context(), id); !client.IsCode(err, "not_found") {
		t.Errorf("a user of another tenant gets %v, want not_found", err)
	}
	if _, _, text := ben.page("/bulk/ui/bulk-actions"); strings.Contains(text, "greetings") {
		t.Errorf("a user of another tenant sees it:\n%s", text)
	}
	if status, _, _ := ben.page("/bulk/ui/bulk-actions/" + id); status != http.StatusNotFound {
		t.Errorf("its page answers a user of another tenant with %d", status)
	}
	if _, err := anyone.api.Get(t.Context(), id); !client.IsCode(err, "no_credentials") {
		t.Errorf("someone who is not signed in gets %v, want no_credentials", err)
	}
	if status, at, _ := anyone.page("/bulk/ui/"); status != http.StatusUnauthorized || at != "/login" {
		t.Errorf("someone who is not signed in comes to %s with %d, want the login", at, status)
	}
}
