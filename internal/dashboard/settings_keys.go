package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// keysOff says what to do on a server that accepts requests without a key; it is empty if keys are required.
func (v *visit) keysOff() string {
	if v.who.Key != "local" {
		return ""
	}
	return "Keys are not required yet: this server accepts every request from its own machine. To require them, put a key with the scope admin into a file that only the server can read (chmod 600), " +
		"name that file with admin_key_file in the configuration or with --admin-key-file, and restart the server."
}

// secretPage shows a secret once.
type secretPage struct {
	Title, Up, UpName string
	// Secret is empty if the form was sent twice: then the first answer had it.
	Name, Secret, Text, LeftOut string
	Facts                       []fact
}

var scopes = []option{{"read", "Read: see everything of its tenants"}, {"submit", "Submit: create and start bulk actions, schedules, templates"},
	{"control", "Control: pause, cancel, retry, set limits"}, {"approve", "Approve: let the rest run after a canary"}, {"admin", "Admin: all of it, and keys, actions, connections, audit"}}

func (d *Dashboard) keyPages() {
	d.page("/settings/keys", "settings", d.keys)
	d.sheet("/settings/new/key", d.newKey, d.createKey)
	d.page("/settings/keys/{name}/revoke", "confirm", func(ctx context.Context, v *visit) (content, error) {
		q, err := v.askRevoke(ctx)
		if err != nil {
			return content{}, err
		}
		return v.ask(q, "Settings"), nil
	})
	d.form("/settings/keys/{name}/revoke", d.revokeKey)
}

func (d *Dashboard) keys(ctx context.Context, v *visit) (content, error) {
	all, err := collect(v.api.Keys().List(ctx), mostSettings+1)
	if err != nil {
		return content{}, err
	}
	page := settingsPage{Tabs: v.settingsTabs("API keys"), Name: "API keys", Text: "Who may do what, for programs and for people who sign in here.",
		Empty: "No keys have been created.", More: len(all) > mostSettings, New: &act{Name: "New key", Path: "/settings/new/key", Scope: "admin"},
		Heads: []head{{Name: "Name"}, {Name: "State"}, {Name: "Scopes", P2: true}, {Name: "Tenants", P2: true}, {Name: "Last used", P2: true}, {Name: "Expires", P2: true}, {Name: "Created", P2: true}, {}}}
	for i := range all[:min(len(all), mostSettings)] {
		page.Rows = append(page.Rows, v.keyRow(&all[i]))
	}
	return content{Title: "API keys", Nav: "Settings", Page: page, Weir: []string{"weir keys list"}}, nil
}

func (v *visit) keyRow(k *api.Key) []cell {
	state := sign{"done", "Valid", "done"}
	var acts []act
	switch {
	case !k.RevokedAt.IsZero():
		state = sign{"cancelled", "Revoked", "cancelled"}
	case !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(v.clock.Now):
		state = sign{"cancelled", "Expired", "cancelled"}
	default:
		acts = []act{{Name: "Revoke", Of: k.Name, Path: "/settings/keys/" + escape(k.ID) + "/revoke", Scope: "admin", Danger: true}}
	}
	name := k.Name
	if k.ID == v.who.Key {
		name += " (yours)"
	}
	used, expires := cell{At: k.LastUsed, P2: true}, cell{At: k.ExpiresAt, P2: true}
	if k.LastUsed.IsZero() {
		used.Text = "Never"
	}
	if k.ExpiresAt.IsZero() {
		expires.Text = "Never"
	}
	return []cell{{Text: name, Sub: k.ID}, {Sign: &state}, {Text: strings.Join(k.Scopes, ", "), P2: true}, {Text: tenantsOf(k.Tenants), P2: true}, used, expires,
		{At: k.CreatedAt, P2: true, Sub: k.CreatedBy}, {Acts: acts}}
}

func (d *Dashboard) newKey(_ context.Context, v *visit) (*sheet, error) {
	s := &sheet{nav: "Settings", Title: "New API key", Up: "/settings/keys", UpName: "API keys", Scope: "admin", Button: "Create the key", Stay: "Create nothing", Once: true,
		Text: "The key is shown once, after it was created. A key cannot do more than the one that creates it. " + v.keysOff(),
		Inputs: []*input{{Name: "name", Label: "Name", Needed: true, Place: "campaign tool", Hint: "Shows in the audit log as who did something."},
			{Name: "tenants", Half: true, Label: "Tenants", Place: "All that your key may access", Hint: "Separated by commas."},
			{Name: "expires_at", Half: true, Label: "Expires, optional", Kind: "datetime-local", Hint: "In your time."}}}
	for _, scope := range scopes {
		s.Inputs = append(s.Inputs, &input{Name: "scopes." + scope.Value, Label: scope.Name, Group: map[string]string{"read": "What it may do"}[scope.Value], Kind: "check", Value: checked(scope.Value == "read")})
	}
	return s, nil
}

func (d *Dashboard) createKey(ctx context.Context, v *visit, s *sheet) (done, error) {
	k := api.Key{Name: s.at("name").Value, Tenants: s.list("tenants"), ExpiresAt: s.moment("expires_at", v.clock.Zone), Scopes: []string{}}
	for _, scope := range scopes {
		if s.at("scopes." + scope.Value).Checked() {
			k.Scopes = append(k.Scopes, scope.Value)
		}
	}
	if len(k.Scopes) == 0 {
		s.at("scopes.read").Fault = "Choose at least one scope."
	}
	if k.Name == "" {
		s.at("name").Fault = "Write a name."
	}
	if s.bad() {
		return done{}, s.again(v)
	}
	made, err := v.api.Keys().Create(v.once(ctx), k)
	if err != nil {
		return done{}, err
	}
	expires, command := "Never", "weir keys create "+quoted(made.Name)
	for _, scope := range made.Scopes {
		command += " --scope " + scope
	}
	for _, tenant := range made.Tenants {
		command += " --tenant " + quoted(tenant)
	}
	if !made.ExpiresAt.IsZero() {
		expires = v.clock.Time(made.ExpiresAt)
		command += " --expires " + max(made.ExpiresAt.Sub(v.clock.Now).Round(time.Minute), time.Minute).String()
	}
	return done{Show: &pageAgain{"secret", content{Title: "The key of " + made.Name, Nav: "Settings", Weir: []string{command}, Page: secretPage{
		Title: "The key of " + made.Name, Up: "/settings/keys", UpName: "API keys", Name: "API key", Secret: made.Key, LeftOut: made.LeftOut,
		Text:  "Copy it now, and keep it where secrets are kept. weir stores only a hash of it: if it is lost, create another one and revoke this one. " + v.keysOff(),
		Facts: []fact{{"Id", made.ID}, {"Scopes", strings.Join(made.Scopes, ", ")}, {"Tenants", tenantsOf(made.Tenants)}, {"Expires", expires}},
	}}}}, nil
}

func (v *visit) askRevoke(ctx context.Context) (*question, error) {
	k, err := v.api.Keys().Get(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	used := "never"
	if !k.LastUsed.IsZero() {
		used = v.clock.Time(k.LastUsed)
	}
	facts := []fact{{"Will be refused", "every request with this key, within a second"}, {"Last used", used}, {"Scopes", strings.Join(slices.Sorted(slices.Values(k.Scopes)), ", ")}}
	if k.ID == v.who.Key {
		facts = append(facts, fact{"Your own key", "you will be signed out"})
	}
	return &question{Title: "Revoke " + cmp.Or(k.Name, k.ID) + "?", Up: "/settings/keys", UpName: "API keys", Scope: "admin", Facts: facts,
		Text: "A revoked key cannot be restored. Create the new key first, and give it to whoever uses this one.", Button: "Revoke the key", Stay: "Keep it valid"}, nil
}

func (d *Dashboard) revokeKey(ctx context.Context, v *visit) (done, error) {
	q, err := v.askRevoke(ctx)
	if err == nil {
		err = v.answered(q, "Settings")
	}
	id := v.PathValue("name")
	if err == nil {
		err = v.api.Do(ctx, http.MethodDelete, "/v1/keys/"+escape(id), api.Verb{Reason: strings.TrimSpace(v.FormValue("reason"))}, nil)
	}
	return done{To: "/settings/keys", Note: note{Text: "The key is revoked.", Weir: []string{"weir keys revoke " + id}}}, err
}
