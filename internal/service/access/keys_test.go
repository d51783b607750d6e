package access

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

func TestStoreNeverHoldsAKey(t *testing.T) {
	s := memstore.New(memstore.Options{})
	_, bootstrap := newText()
	k := newKeys(t, s, Options{Bootstrap: []vault.Secret{bootstrap}})
	texts := []string{bootstrap.Reveal()}
	for range 20 {
		_, text := create(t, k, NewKey{})
		texts = append(texts, text)
	}
	for _, text := range texts {
		if _, err := k.Authenticate(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	all := dump(t, s)
	if len(all) != 20 {
		t.Fatalf("the store holds %d records, want 20", len(all))
	}
	for _, r := range all {
		whole := append([]byte(r.Name), r.Value...)
		for _, text := range texts {
			secret := text[len(textPrefix)+ulidChars : textChars-sumChars]
			for _, part := range []string{text, secret} {
				for _, form := range [][]byte{
					[]byte(part), []byte(base64.StdEncoding.EncodeToString([]byte(part))), []byte(base64.RawURLEncoding.EncodeToString([]byte(part))),
					[]byte(hex.EncodeToString([]byte(part))), []byte(strings.ToUpper(hex.EncodeToString([]byte(part)))),
				} {
					if bytes.Contains(whole, form) {
						t.Fatalf("record %s holds a key as %s", r.Name, form)
					}
				}
			}
		}
	}
}

func TestCreatedKeyIsListedUntilRevokedAndAfter(t *testing.T) {
	k := newKeys(t, memstore.New(memstore.Options{}), Options{})
	expires := time.Now().Add(time.Hour)
	made, text := create(t, k, NewKey{Name: "nightly import", Scopes: []Scope{Submit, Read}, Tenants: []string{"growth"}, Expires: expires})
	got, err := k.Get(t.Context(), root, made.ID)
	if err != nil || got.Name != "nightly import" || !slices.Equal(got.Scopes, []Scope{Submit, Read}) || !got.Expires.Equal(expires) || got.By != "local" || got.Created.IsZero() {
		t.Errorf("Get = %+v, %v", got, err)
	}
	p, err := k.Authenticate(t.Context(), text)
	if err != nil || p.KeyID != made.ID || p.Name != "nightly import" || !p.May(Submit) || p.May(Control) || !p.Sees("growth") || p.Sees("other") {
		t.Errorf("Authenticate = %+v, %v", p, err)
	}
	first, err := k.Revoke(t.Context(), root, made.ID)
	if err != nil || first.Revoked.IsZero() {
		t.Errorf("Revoke = %+v, %v", first, err)
	}
	if again, err := k.Revoke(t.Context(), root, made.ID); err != nil || !again.Revoked.Equal(first.Revoked) {
		t.Errorf("Revoke once more = %+v, %v, want it unchanged", again, err)
	}
	if _, err := k.Authenticate(t.Context(), text); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("Authenticate after Revoke = %v, want ErrBadCredentials", err)
	}
	if page, _, err := k.List(t.Context(), root, "", 10); err != nil || len(page) != 1 || page[0].Revoked.IsZero() {
		t.Errorf("List = %+v, %v, want the revoked key", page, err)
	}
	if _, err := k.Revoke(t.Context(), root, "key_none"); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("Revoke of no key = %v, want ErrNotFound", err)
	}
}

func TestListGoesPageByPage(t *testing.T) {
	k := newKeys(t, memstore.New(memstore.Options{}), Options{})
	var want []string
	for i := range 25 {
		made, _ := create(t, k, NewKey{Name: fmt.Sprint(i)})
		want = append(want, made.ID)
	}
	var got []string
	for after, more := "", true; more; more = after != "" {
		page, next, err := k.List(t.Context(), root, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page {
			got = append(got, key.ID)
		}
		after = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
}

func TestBoundAdministratorSeesNoForeignKeys(t *testing.T) {
	k := newKeys(t, memstore.New(memstore.Options{}), Options{})
	by := Principal{KeyID: "key_g", Scopes: []Scope{Admin}, Tenants: []string{"growth", "sales"}}
	for _, tt := range []struct {
		name    string
		tenants []string
		seen    bool
	}{
		{"own", []string{"growth"}, true},
		{"all own", []string{"sales", "growth"}, true},
		{"own and foreign", []string{"growth", "other"}, false},
		{"foreign", []string{"other"}, false},
		{"of all tenants", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made, _ := create(t, k, NewKey{Tenants: tt.tenants})
			_, err := k.Get(t.Context(), by, made.ID)
			if errors.Is(err, weir.ErrNotFound) == tt.seen {
				t.Errorf("Get = %v, want seen = %v", err, tt.seen)
			}
			page, _, err := k.List(t.Context(), by, "", 100)
			if err != nil || slices.ContainsFunc(page, func(key Key) bool { return key.ID == made.ID }) != tt.seen {
				t.Errorf("List = %v, %v, want seen = %v", page, err, tt.seen)
			}
			if _, err := k.Revoke(t.Context(), by, made.ID); (err == nil) != tt.seen {
				t.Errorf("Revoke = %v, want seen = %v", err, tt.seen)
			}
			if got, _ := k.Get(t.Context(), root, made.ID); got.Revoked.IsZero() == tt.seen {
				t.Errorf("key is revoked at %v, want revoked = %v", got.Revoked, tt.seen)
			}
		})
	}
}

func TestBadKeysAreNotMade(t *testing.T) {
	bound := Principal{KeyID: "key_g", Scopes: []Scope{Admin}, Tenants: []string{"growth"}}
	reader := Principal{KeyID: "key_r", Scopes: []Scope{Read}}
	for _, tt := range []struct {
		name string
		by   Principal
		spec NewKey
		want string // code and field
	}{
		{"no name", root, NewKey{Scopes: []Scope{Read}}, "bad_text name"},
		{"long name", root, NewKey{Name: strings.Repeat("n", 129), Scopes: []Scope{Read}}, "bad_text name"},
		{"name with a line break", root, NewKey{Name: "a\nb", Scopes: []Scope{Read}}, "bad_text name"},
		{"no scope", root, NewKey{Name: "a"}, "missing_field scopes"},
		{"unknown scope", root, NewKey{Name: "a", Scopes: []Scope{Read, "write"}}, "bad_value scopes[1]"},
		{"scope that the maker lacks", reader, NewKey{Name: "a", Scopes: []Scope{Read, Admin}}, "missing_scope scopes[1]"},
		{"name that turns the text around", root, NewKey{Name: "a\u202eb", Scopes: []Scope{Read}}, "bad_text name"},
		{"empty tenant", root, NewKey{Name: "a", Scopes: []Scope{Read}, Tenants: []string{""}}, "bad_text tenants[0]"},
		{"tenant with a control character", root, NewKey{Name: "a", Scopes: []Scope{Read}, Tenants: []string{"a", "b\x1b[1m"}}, "bad_text tenants[1]"},
		{"too many tenants", root, NewKey{Name: "a", Scopes: []Scope{Read}, Tenants: make([]string, 1001)}, "out_of_range tenants"},
		{"all tenants, by one who is bound", bound, NewKey{Name: "a", Scopes: []Scope{Read}}, "missing_scope tenants"},
		{"foreign tenant, by one who is bound", bound, NewKey{Name: "a", Scopes: []Scope{Read}, Tenants: []string{"growth", "other"}}, "missing_scope tenants[1]"},
		{"expired already", root, NewKey{Name: "a", Scopes: []Scope{Read}, Expires: time.Now()}, "bad_time expires"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memstore.New(memstore.Options{})
			_, text, err := newKeys(t, s, Options{}).Create(t.Context(), tt.by, tt.spec)
			input, ok := errors.AsType[*weir.InputError](err)
			if !ok || len(input.Fields) != 1 || input.Fields[0].Code+" "+input.Fields[0].Field != tt.want || input.Fields[0].Fix == "" {
				t.Errorf("Create = %v, want %s", err, tt.want)
			}
			if len(dump(t, s)) != 0 || !text.IsZero() {
				t.Error("a key was made")
			}
		})
	}
}

func TestWeakBootstrapKeysAreRefused(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "short": "geheim", "with a line break": strings.Repeat("a", 40) + "\n"} {
		if _, err := NewKeys(memstore.New(memstore.Options{}), Options{Bootstrap: []vault.Secret{vault.NewSecret(text)}}); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: NewKeys = %v, want an error that does not repeat it", name, err)
		}
	}
}

// A crash after a key was written loses its text. Who asks for the
// same again has one key afterwards, and one text.
func TestAKeyThatNobodyGotIsMadeAnew(t *testing.T) {
	s := memstore.New(memstore.Options{})
	k := newKeys(t, s, Options{})
	spec := NewKey{ID: NewID(), Name: "nightly", Scopes: []Scope{Read}, Tenants: []string{"growth"}}
	first, lost := create(t, k, spec)
	again, text := create(t, newKeys(t, s, Options{}), spec)
	if first.ID != spec.ID || again.ID != spec.ID || text == "" || text == lost {
		t.Fatalf("made %+v, then %+v with another text: %t; want both to be %s", first, again, text != lost, spec.ID)
	}
	if _, err := k.Authenticate(t.Context(), lost); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("the text that was lost: %v, want ErrBadCredentials", err)
	}
	if p, err := k.Authenticate(t.Context(), text); err != nil || p.KeyID != spec.ID {
		t.Errorf("the text that was got: %+v, %v", p, err)
	}
	if page, _, err := k.List(t.Context(), root, "", 10); err != nil || len(page) != 1 {
		t.Errorf("there are %d keys, %v; want 1", len(page), err)
	}
}

func TestAKeyThatIsInUseIsNotMadeAnew(t *testing.T) {
	k := newKeys(t, memstore.New(memstore.Options{}), Options{})
	spec := NewKey{ID: NewID(), Name: "nightly", Scopes: []Scope{Read}}
	_, text := create(t, k, spec)
	if _, err := k.Authenticate(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	same, none := create(t, k, spec)
	if none != "" || same.ID != spec.ID || same.Used.IsZero() {
		t.Errorf("made again it is %+v, with a text: %t; want it as it is", same, none != "")
	}
	if _, err := k.Authenticate(t.Context(), text); err != nil {
		t.Errorf("its text is worth nothing any more: %v", err)
	}
	if _, err := k.Revoke(t.Context(), root, spec.ID); err != nil {
		t.Fatal(err)
	}
	if gone, none := create(t, k, spec); none != "" || gone.Revoked.IsZero() {
		t.Errorf("a revoked key came back as %+v, with a text: %t", gone, none != "")
	}
	spec.Scopes = []Scope{Read, Admin}
	if _, _, err := k.Create(t.Context(), root, spec); !errors.Is(err, records.ErrExists) {
		t.Errorf("another key of the same id: %v, want ErrExists", err)
	}
}
