package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// from returns options with a store, and settings of a file.
func from(t *testing.T, actions []api.Action, connections []api.Connection) Options {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return Options{Store: memstore.New(memstore.Options{}), Guard: egress.New(egress.Policy{}), Vault: v, Actions: actions, Connections: connections}
}

func anyone[T any](T) error { return nil }

func always(string) error { return nil }

func isCode(err error, code string) bool {
	var r *check.Refusal
	return errors.As(err, &r) && r.Code == code
}

func TestAnActionOfTheAPIOverridesTheFileUntilItIsDeleted(t *testing.T) {
	o := from(t, []api.Action{{Name: "send", URL: "https://example.com/file", Secret: secretOne}}, nil)
	r, err := NewActions(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if a, version, err := r.Get(t.Context(), "send"); err != nil || a.Origin != "file" || version != "" || a.Secret != Hidden {
		t.Errorf("Get = %+v, %q, %v; want that of the file, its secret hidden", a, version, err)
	}
	if err := r.Delete(t.Context(), "send", always, anyone[api.Action]); !isCode(err, "in_use") {
		t.Errorf("Delete of what only the file has = %v, want in_use", err)
	}
	a, version, err := r.Put(t.Context(), api.Action{Name: "send", URL: "https://example.com/api"}, "key_1", always, anyone[api.Action])
	if err != nil || a.Origin != "api" || a.ChangedBy != "key_1" || a.File == nil || version == "" {
		t.Fatalf("Put = %+v, %q, %v; want that of the API, beside the file's", a, version, err)
	}
	other, err := NewActions(t.Context(), o) // another node, or the next start
	if err != nil {
		t.Fatal(err)
	}
	if a, err := other.Find("send"); err != nil || a.URL != "https://example.com/api" {
		t.Errorf("Find on another node = %+v, %v", a, err)
	}
	if err := r.Delete(t.Context(), "send", always, anyone[api.Action]); err != nil {
		t.Fatal(err)
	}
	if a, _, err := r.Get(t.Context(), "send"); err != nil || a.URL != "https://example.com/file" {
		t.Errorf("Get after the delete = %+v, %v; want that of the file", a, err)
	}
}

func TestADeletedActionIsKeptForWhatRuns(t *testing.T) {
	r, err := NewActions(t.Context(), from(t, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Put(t.Context(), api.Action{Name: "send", URL: "https://example.com/"}, "", always, anyone[api.Action]); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), "send", always, anyone[api.Action]); err != nil {
		t.Fatal(err)
	}
	if a, err := r.Find("send"); err != nil || a.MayUse("default") {
		t.Errorf("Find = %+v, %v; want it, and no new bulk action may use it", a, err)
	}
	if _, _, err := r.Get(t.Context(), "send"); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("Get = %v, want not found", err)
	}
	if names := r.Names(); len(names) != 0 {
		t.Errorf("Names = %v, want none", names)
	}
}

const secretOne = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestSecretsAreSealedHiddenAndKept(t *testing.T) {
	o := from(t, nil, nil)
	r, err := NewActions(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put := func(secret, header string) (api.Action, error) {
		a, _, err := r.Put(t.Context(), api.Action{Name: "send", URL: "https://example.com/", Secret: secret, Header: map[string]string{"X-Key": header}}, "", always, anyone[api.Action])
		return a, err
	}
	if _, err := put("", Hidden); err == nil {
		t.Error("a secret that was never stored was kept")
	}
	if a, err := put(secretOne, "hunter2"); err != nil || a.Secret != Hidden || a.Header["X-Key"] != Hidden {
		t.Fatalf("Put = %+v, %v; want the secrets hidden", a, err)
	}
	raw, err := o.Store.Lookup(t.Context(), "action/send")
	if err != nil || strings.Contains(string(raw), "hunter2") || strings.Contains(string(raw), secretOne) {
		t.Errorf("the store has %s, %v", raw, err)
	}
	if _, err := put(Hidden, Hidden); err != nil {
		t.Fatal(err)
	}
	a, err := r.Find("send")
	if err != nil || a.Secret != secretOne || a.Header["X-Key"] != "hunter2" {
		t.Errorf("Find = %+v, %v; want the secrets of before", a, err)
	}
	sealed, err := o.Vault.Seal("x", []byte("y"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(secretOne, sealed); err == nil {
		t.Error("a sealed secret was accepted")
	}
}

func TestAConnectionFollowsTheSameRules(t *testing.T) {
	file := api.Connection{Name: "db", Kind: "postgres", URL: "db.example.com:5432", Secret: map[string]string{"password": "of the file"}}
	s := NewConnections(t.Context(), from(t, nil, []api.Connection{file}))
	if err := s.Delete(t.Context(), "db", always, anyone[api.Connection]); !isCode(err, "in_use") {
		t.Errorf("Delete of what only the file has = %v, want in_use", err)
	}
	changed := file
	changed.URL, changed.Secret = "other.example.com:5432", map[string]string{"password": "hunter2"}
	c, version, err := s.Put(t.Context(), changed, "key_1", always, anyone[api.Connection])
	if err != nil || c.Secret["password"] != Hidden || c.Origin != "api" || c.File == nil {
		t.Fatalf("Put = %+v, %v", c, err)
	}
	if c, err := s.find("db"); err != nil || c.Secret["password"] != "hunter2" {
		t.Errorf("find = %+v, %v; want the secret in plain text", c, err)
	}
	stale := func(v string) error {
		if v != "another" {
			return records.ErrChanged
		}
		return nil
	}
	if err := s.Delete(t.Context(), "db", stale, anyone[api.Connection]); !errors.Is(err, records.ErrChanged) {
		t.Errorf("Delete of another version than %q = %v, want it refused", version, err)
	}
	mine := func(api.Connection) error { return weir.ErrNotFound }
	if _, _, err := s.Put(t.Context(), changed, "", always, mine); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("Put by a caller that may not = %v, want not found", err)
	}
	if err := s.Delete(t.Context(), "db", always, anyone[api.Connection]); err != nil {
		t.Fatal(err)
	}
	if all, err := s.All(t.Context()); err != nil || len(all) != 1 || all[0].URL != file.URL || all[0].Origin != "file" {
		t.Errorf("All = %+v, %v; want that of the file again", all, err)
	}
}
