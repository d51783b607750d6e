package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/service/vault"
)

// Secrets that must show nowhere.
const (
	plantedAdmin = "planted-admin-0123456789-0123456789"
	plantedVault = "planted+vault+0123456789abcdefghijklmnopqrs="
)

// place is a directory with a configuration and secrets, and an environment.
type place struct {
	dir string
	env map[string]string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t.TempDir(), map[string]string{}}
	p.write(t, "admin.key", plantedAdmin, 0o600)
	p.write(t, "vault.key", plantedVault, 0o640)
	p.write(t, "open.key", "planted-open", 0o644)
	p.write(t, "short.key", "planted", 0o600)
	p.write(t, "empty.key", "\n", 0o600)
	p.write(t, "cert.pem", "no matter", 0o644)
	return p
}

func (p *place) write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the mask
		t.Fatal(err)
	}
}

// load reads a configuration with that content; none if it is empty.
func (p *place) load(t *testing.T, content string, flags map[string]string) (*Server, error) {
	t.Helper()
	src := Source{Dir: p.dir, Getenv: func(n string) string { return p.env[n] }, Flags: flags}
	if content != "" {
		p.write(t, FileName, content, 0o644)
		src.Path, src.Name = filepath.Join(p.dir, FileName), FileName
	}
	return Load(src)
}

func valueOf(s *Server, key string) Value {
	all := s.Values()
	if i := slices.IndexFunc(all, func(v Value) bool { return v.Key == key }); i >= 0 {
		return all[i]
	}
	return Value{}
}

func TestNothingSetIsReadyToServeThisMachine(t *testing.T) {
	for _, content := range []string{"", "# listen: :8080\n\n# data: /var/lib/weir\n", "---\n"} {
		readyForThisMachine(t, content)
	}
}

func readyForThisMachine(t *testing.T, content string) {
	t.Helper()
	s, err := newPlace(t).load(t, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != "127.0.0.1:8080" || s.AdminListen != s.Listen || s.Reachable() || s.Role != RoleAll || !filepath.IsAbs(s.Data) {
		t.Errorf("defaults = %+v", s)
	}
	for _, v := range s.Values() {
		if v.Origin != byDefault {
			t.Errorf("%s comes from %q, want %q", v.Key, v.Origin, byDefault)
		}
	}
}

func TestAFlagCountsMoreThanAVariableAndThatMoreThanTheFile(t *testing.T) {
	p := newPlace(t)
	p.env["WEIR_SLOTS"], p.env["WEIR_WORKERS"], p.env["WEIR_LIMITS_BODY"] = "20", "20", "9MiB"
	s, err := p.load(t, "slots: 10\nworkers: 10\npartitions: 10\nlimits: {upload: 1GiB}\n", map[string]string{"slots": "30"})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Value{
		"slots":         {"slots", "30", "flag --slots", false},
		"workers":       {"workers", "20", "environment WEIR_WORKERS", false},
		"partitions":    {"partitions", "10", "weir.yaml:3", false},
		"limits.upload": {"limits.upload", "1GiB", "weir.yaml:4", false},
		"limits.body":   {"limits.body", "9MiB", "environment WEIR_LIMITS_BODY", false},
		"stage":         {"stage", "prod", "default", false},
	} {
		if got := valueOf(s, key); got != want {
			t.Errorf("%s = %+v, want %+v", key, got, want)
		}
	}
}

func TestEverySettingHasAFlagAVariableAndHelp(t *testing.T) {
	flags, all := map[string]bool{}, Settings()
	for _, s := range all {
		if s.Help == "" || s.Heading == "" || s.Type == "" {
			t.Errorf("%s is not explained: %+v", s.Key, s)
		}
		if flags[s.Flag] || strings.ToLower(s.Flag) != s.Flag || !strings.HasPrefix(s.Env, "WEIR_") {
			t.Errorf("%s has the flag %s and the variable %s", s.Key, s.Flag, s.Env)
		}
		flags[s.Flag] = true
	}
	if len(all) < 35 {
		t.Errorf("%d settings, want all of them", len(all))
	}
}

// TestEverySettingCanBeSetEachWay sets each setting by file, variable and flag in turn.
func TestEverySettingCanBeSetEachWay(t *testing.T) {
	words := map[string]string{
		"SIZE": "300KiB", "SPAN": "2h", "N": "3", "bool": "true", "LIST": "10.0.0.0/8", "TEXT": "word", "FORMAT": "json", "LEVEL": "debug",
		"ROLE": "all", "MODE": "memory", "HOST:PORT": "127.0.0.1:1", "DIR": "elsewhere", "FILE": "vault.key",
	}
	special := map[string]string{"traces.sample": "0.5", "redis": "redis://a:1,redis://b:1", "lease": "5s", "drain": "5s", "redis_replicas": "0"}
	for _, st := range Settings() {
		word := words[st.Type]
		if w, ok := special[st.Key]; ok {
			word = w
		}
		p := newPlace(t)
		p.env[st.Env] = word
		s, _ := p.load(t, "", nil) // alone it may not be enough
		byEnv := valueOf(s, st.Key)
		p.env = map[string]string{}
		s, _ = p.load(t, "", map[string]string{st.Key: word})
		byFlag := valueOf(s, st.Key)
		yaml := ""
		for part := range strings.SplitSeq(st.Key, ".") {
			yaml += fmt.Sprintf("{%s: ", part)
		}
		s, _ = p.load(t, yaml+`"`+word+`"`+strings.Repeat("}", strings.Count(st.Key, ".")+1), nil)
		byFile := valueOf(s, st.Key)
		if byFile.Text != byEnv.Text || byEnv.Text != byFlag.Text || byFile.Origin != "weir.yaml:1" || byEnv.Origin != "environment "+st.Env || byFlag.Origin != "flag --"+st.Flag {
			t.Errorf("%s = %+v by file, %+v by variable, %+v by flag", st.Key, byFile, byEnv, byFlag)
		}
	}
}

func TestSecretsComeFromFilesOrVariablesAndAreNotShown(t *testing.T) {
	p := newPlace(t)
	p.env["WEIR_VAULT_KEY_FILE"], p.env["WEIR_REDIS_PASSWORD"] = "vault.key", "planted-redis"
	s, err := p.load(t, `
admin_key_file: admin.key
redis: redis://me@host
connections:
  crm: {kind: postgres, address: "db:5432", password_file: admin.key, header_file: {Authorization: vault.key}}
webhooks:
  ops: {url: "https://ops.example.com/", secret_file: vault.key}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.AdminKey.Reveal() != plantedAdmin || s.VaultKey.Reveal() != plantedVault || s.RedisPassword.Reveal() != "planted-redis" ||
		s.Connections["crm"].Password.Reveal() != plantedAdmin || s.Webhooks["ops"].Secret.Reveal() != plantedVault || s.RedisServers()[0].Password.Reveal() != "planted-redis" {
		t.Error("a secret was not read")
	}
	if got, want := valueOf(s, "redis_password"), (Value{"redis_password", "[secret]", "environment WEIR_REDIS_PASSWORD", true}); got != want {
		t.Errorf("redis_password = %+v, want %+v", got, want)
	}
	if got := valueOf(s, "admin_key"); !got.Secret || got.Origin != "contents of "+filepath.Join(p.dir, "admin.key") {
		t.Errorf("admin_key = %+v", got)
	}
	asJSON, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", slog.Any("key", s.AdminKey), slog.Any("server", s))
	all := fmt.Sprintf("%v %+v %#v %s %x %q %s %s %v", s, s, s, s.AdminKey, s.VaultKey, s.AdminKey, asJSON, log.String(), s.Values())
	if strings.Contains(all, "planted") || strings.Contains(all, fmt.Sprintf("%x", "planted")) {
		t.Errorf("a secret shows in %s", all)
	}
}

func TestServersThatShareARedisHaveToBeGivenTheSameVaultKey(t *testing.T) {
	for _, tt := range []struct {
		name    string
		env     map[string]string
		content string
		want    string // in the error; empty: there is a vault
	}{
		{"by file", map[string]string{"WEIR_VAULT_KEY_FILE": "vault.key"}, "redis: redis://h\n", ""},
		{"by variable", map[string]string{"WEIR_VAULT_KEY": plantedVault}, "redis: redis://h\n", ""},
		{"none, alone", nil, "data: d\n", ""},
		{"none, with a Redis", nil, "redis: redis://h\n", "vault_key_file: is not set, and servers that share a Redis need the same key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			p.env = tt.env
			s, err := p.load(t, tt.content, nil)
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.OpenVault(t.Context())
			if (v == nil) != (tt.want != "") || err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("vault = %v, %v; want %q", v, err, tt.want)
			}
		})
	}
}

func TestAPasswordInAVariableIsNotShown(t *testing.T) {
	p := newPlace(t)
	p.env["WEIR_REDIS"] = "redis://me:planted@a:1,redis://me:planted@b:1"
	s, err := p.load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Redis{{Addresses: []string{"a:1", "b:1"}, Username: "me", Password: vault.NewSecret("planted")}}
	if got := s.RedisServers(); !reflect.DeepEqual(got, want) {
		t.Errorf("servers = %+v, want %+v", got, want)
	}
	if v := valueOf(s, "redis"); v.Text != "redis://me:xxxxx@a:1,redis://me:xxxxx@b:1" {
		t.Errorf("redis = %+v", v)
	}
}

func TestUnrelatedServersAreTheirOwnSets(t *testing.T) {
	p := newPlace(t)
	s, err := p.load(t, "redis: [redis://a:1, redis://me@b:1, redis://s1:2?primary=x, redis://s2:2?primary=x, redis://s1:2?primary=y]\nredis_spread: true\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Redis{{Addresses: []string{"a:1"}}, {Addresses: []string{"b:1"}, Username: "me"},
		{Addresses: []string{"s1:2", "s2:2"}, Primary: "x"}, {Addresses: []string{"s1:2"}, Primary: "y"}}
	if got := s.RedisServers(); !reflect.DeepEqual(got, want) {
		t.Errorf("servers = %+v, want %+v", got, want)
	}
}

func TestMistakesInSettings(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"an unknown key", "listn: x\n", `weir.yaml:1: key "listn" is not known; did you mean listen?`},
		{"an unknown key inside", "limits:\n  bdy: 1MiB\n", `weir.yaml:2: key "bdy" is not known; did you mean body?`},
		{"a bad address", "listen: 8080\n", `weir.yaml:1: listen: "8080" is not an address; write it as in 127.0.0.1:8080`},
		{"a bad port", "listen: 127.0.0.1:99999\n", `weir.yaml:1: listen: "127.0.0.1:99999" has no port between 0 and 65535`},
		{"a size without a unit", "limits: {body: 8}\n", "weir.yaml:1: body: 8 has no unit; write 8MiB"},
		{"a size of nothing", "limits: {body: many}\n", `weir.yaml:1: body: "many" is not a size; write it as in 8MiB or 2GiB`},
		{"a span without a unit", "drain: 5\n", "weir.yaml:1: drain: 5 has no unit; write 5s"},
		{"a short lease", "lease: 10ms\n", "weir.yaml:1: lease: 10ms is not between 1s and 1h"},
		{"an age of minutes", "retention: 5m\n", "weir.yaml:1: retention: 5m is not between 1h and 3650d"},
		{"too many partitions", "partitions: 1000\n", "weir.yaml:1: partitions: 1000 is not between 1 and 256"},
		{"no slots", "slots: 0\n", "weir.yaml:1: slots: 0 is not between 1 and 1000000"},
		{"half a slot", "slots: 1.5\n", `weir.yaml:1: slots: "1.5" is not a whole number`},
		{"an unknown role", "role: master\n", `weir.yaml:1: role: "master" is not one of all, api, worker`},
		{"a worker without Redis", "role: worker\n", "weir.yaml:1: role: worker needs a store that other nodes can reach; name it with redis, or use role all"},
		{"replicas of nothing", "durability: replicated\n", "weir.yaml:1: durability: the embedded store has no replicas"},
		{"no number of replicas", "redis: redis://h\ndurability: replicated\n", "weir.yaml:2: durability: replicated needs the number of replicas"},
		{"one server to spread over", "redis: redis://h\nredis_spread: true\n", "weir.yaml:2: redis_spread: has no effect with 1 URLs; name several servers in redis, or leave this out"},
		{"replicas without a wait", "redis: redis://h\nredis_replicas: 1\n", "weir.yaml:2: redis_replicas: has no effect with durability disk"},
		{"no URL of Redis", "redis: host:6379\n", `weir.yaml:1: redis[0]: the scheme is "host"; write it as in redis://host:6379`},
		{"another database", "redis: [redis://h, redis://h/3]\n", `weir.yaml:1: redis[1]: weir uses database 0, not "/3"`},
		{"servers that differ", "redis:\n - redis://h\n - rediss://h\n", "weir.yaml:3: redis[1]: differs from the first in more than its address"},
		{"a password in a URL", "redis: redis://u:planted@h\n", "weir.yaml:1: redis: holds a password; leave it out, put it into a file that only you can read, and name that with redis_password_file"},
		{"a topic with a secret", "connections: {b: {kind: kafka, address: \"b:9092\"}}\nwebhooks: {w: {topic: t, connection: b, secret_file: vault.key}}\n", "weir.yaml:2: webhooks.w.secret_file: events in a topic are not signed; leave the key out"},
		{"a secret as it is", "admin_key: planted\n", "weir.yaml:1: admin_key is a secret and must not be in this file; put it into a file that only you can read, and name that with admin_key_file: PATH"},
		{"a password of a connection", "connections: {a: {kind: s3, password: planted}}\n", "weir.yaml:1: password is a secret"},
		{"a secret that every user can read", "admin_key_file: open.key\n", "open.key: is readable by every user (-rw-r--r--); chmod 600 "},
		{"a secret that is nowhere", "admin_key_file: none.key\n", "none.key: cannot be read: no such file or directory; write the secret into it"},
		{"a short key", "admin_key_file: short.key\n", "weir.yaml:1: admin_key_file: the key has fewer than 32 characters, or blanks in it; generate one with openssl rand -hex 32"},
		{"a vault key that is none", "vault_key_file: short.key\n", "weir.yaml:1: vault_key_file: key file "},
		{"an empty secret", "admin_key_file: empty.key\n", "empty.key: is empty; write the secret into it"},
		{"a directory for a secret", "admin_key_file: .\n", ": is a directory; name the file with the secret"},
		{"a variable that is not set", "stage: a-${NOWHERE}\n", "weir.yaml:1: stage: the environment variable NOWHERE is not set; set it, or write the value here"},
		{"a stage with a space", "stage: a b\n", `weir.yaml:1: stage: "a b" is not a name`},
		{"the world without TLS", "listen: 0.0.0.0:8080\n", "weir.yaml:1: listen: other machines can reach 0.0.0.0:8080"},
		{"operators' routes without TLS", "admin_listen: :8081\n", "weir.yaml:1: admin_listen: other machines can reach :8081"},
		{"a certificate without its key", "tls: {cert: cert.pem}\n", "weir.yaml:1: tls.cert: needs tls.key; set both, or none"},
		{"a certificate that is nowhere", "tls: {cert: none.pem, key: admin.key}\n", "none.pem: no such file or directory"},
		{"a key that everybody can read", "tls: {cert: cert.pem, key: open.key}\n", "tls.key: "},
		{"client certificates without TLS", "tls: {client_ca: cert.pem}\n", "weir.yaml:1: tls.client_ca: client certificates need TLS"},
		{"a network that is none", "egress:\n  allow: [10.0.0.0/8, office]\n", `weir.yaml:2: egress.allow[1]: "office" is neither an address nor a prefix`},
		{"a tenant of no weight", "tenants:\n  acme: {weight: 0}\n", "weir.yaml:2: weight: 0 is not above 0 and at most 1000"},
		{"a tenant below nothing", "tenants:\n  acme:\n    max_tasks: -1\n", "weir.yaml:3: tenants.acme.max_tasks: -1 is negative"},
		{"a connection to somewhere", "connections:\n  a: {kind: ftp, address: h}\n", `weir.yaml:2: connections.a.kind: "ftp" is not a kind of connection; write one of http, postgres, s3, kafka`},
		{"a connection to nowhere", "connections:\n  a: {kind: s3}\n", "weir.yaml:2: connections.a: has no address"},
		{"a webhook to nowhere", "webhooks:\n  a: {url: ftp://h}\n", "weir.yaml:2: webhooks.a: has no url that begins with https://"},
		{"a word for a list", "connections: {a: {kind: s3, address: x, header: y}}\n", "weir.yaml:1: header: is a single value where keys with values are expected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newPlace(t).load(t, tt.content, nil)
			var e *Errors
			if !errors.As(err, &e) || len(e.List) != 1 && !strings.Contains(tt.name, "password of") {
				t.Fatalf("err = %v, want one mistake", err)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "planted") {
				t.Errorf("err = %v\nwant  %s", err, tt.want)
			}
		})
	}
}

func TestMistakesInVariablesAndFlags(t *testing.T) {
	p := newPlace(t)
	p.env["WEIR_SLOTS"], p.env["WEIR_ROLE"], p.env["WEIR_ADMIN_KEY"], p.env["WEIR_ADMIN_KEY_FILE"] = "many", "api", "planted", "admin.key"
	_, err := p.load(t, "", map[string]string{"redis": "redis://u:planted@h", "lease": "2h"})
	want := strings.Join([]string{
		"--lease: 2h0m0s is not between 1s and 1h",
		"--redis: contains a password, which every user of this machine could see; leave it out, put it into a file that only you can read, and name that with redis_password_file",
		"WEIR_ADMIN_KEY_FILE: the secret is given twice: also by the environment variable WEIR_ADMIN_KEY; keep one of them",
		"WEIR_ROLE: api needs a store that other nodes can reach; name it with redis, or use role all",
		`WEIR_SLOTS: "many" is not a whole number`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("err =\n%v\nwant\n%s", err, want)
	}
}

func TestAllMistakesAreToldAtOnceButNotMoreThanTwenty(t *testing.T) {
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, "wxyzzy%d: 1\n", i)
	}
	_, err := newPlace(t).load(t, b.String(), nil)
	var e *Errors
	if !errors.As(err, &e) || len(e.List) != MostErrors || e.More != 5 || !strings.HasSuffix(err.Error(), "\nand 5 more") {
		t.Errorf("err = %v, want 20 mistakes and 5 more", err)
	}
	for i, one := range e.List {
		if one.Line != i+1 {
			t.Errorf("mistake %d is of line %d: not in the order of the file", i, one.Line)
		}
	}
}

func TestWordsOfTheEnvironmentArePutIn(t *testing.T) {
	p := newPlace(t)
	p.env["HOST"], p.env["TIER"] = "127.0.0.2", "eu"
	s, err := p.load(t, "listen: ${HOST}:9000\nstage: ${TIER}-$${TIER\nslots: &n 7\nworkers: *n\nactions: {a: {url: 'http://h/$${x}'}}\n", nil)
	if err == nil {
		t.Fatalf("a stage with { was taken: %+v", s)
	}
	s, err = p.load(t, "listen: ${HOST}:9000\nstage: ${TIER}-1\nslots: &n 7\nworkers: *n\nactions: {a: {url: 'http://h/$${x}'}}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != "127.0.0.2:9000" || s.Stage != "eu-1" || s.Workers != 7 || s.Actions["a"].URL != "http://h/${x}" {
		t.Errorf("settings = %+v", s)
	}
}

// TestReach is the matrix of what may be listened on: see also the tests of weir serve, which wants keys.
func TestReach(t *testing.T) {
	const withTLS = "tls: {cert: cert.pem, key: admin.key}\n"
	for _, tt := range []struct {
		name, content string
		reachable     bool
		admin         Address
	}{
		{"this machine", "listen: 127.0.0.1:1\n", false, "127.0.0.1:1"},
		{"this machine by name", "listen: localhost:1\n", false, "localhost:1"},
		{"this machine by IPv6", "listen: '[::1]:1'\n", false, "[::1]:1"},
		{"everybody with TLS", "listen: :1\n" + withTLS, true, "127.0.0.1:8081"},
		{"everybody behind a proxy", "listen: 0.0.0.0:1\ntls: {proxy: true}\n", true, "127.0.0.1:8081"},
		{"one address for all", "listen: 10.0.0.1:1\nadmin_listen: 10.0.0.1:1\n" + withTLS, true, "10.0.0.1:1"},
		{"operators from elsewhere", "admin_listen: 10.0.0.1:2\n" + withTLS, true, "10.0.0.1:2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := newPlace(t).load(t, tt.content, nil)
			if err != nil || s.Reachable() != tt.reachable || s.AdminListen != tt.admin {
				t.Errorf("reachable = %v, operators at %s, %v; want %v, %s", s.Reachable(), s.AdminListen, err, tt.reachable, tt.admin)
			}
		})
	}
}

func TestTheFileOfAServerServesRunsToo(t *testing.T) {
	path := write(t, "listen: :9\nredis: ${NOWHERE}\nactions:\n  a: {url: http://h/, header_file: {Authorization: token}}\n")
	f, err := LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := f.Actions["a"]
	if _, err := a.Headers(); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("headers without their file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "token"), []byte("Bearer x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err := a.Headers(); err != nil || h["Authorization"] != "Bearer x" {
		t.Errorf("headers = %v, %v", h, err)
	}
	if _, err := LoadFile(write(t, "listn: :9\n")); err == nil || !strings.Contains(err.Error(), "did you mean listen?") {
		t.Errorf("err = %v", err)
	}
}

func TestValuesInsideTheFileHaveTheirLines(t *testing.T) {
	s, err := newPlace(t).load(t, "actions:\n  crm.award:\n    url: http://h/\n    timeout: 5s\n    header:\n      X-Team: growth\nresources:\n  wallet: {rate: 5/s}\ntenants:\n  acme: {weight: 2.5}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Value{
		"actions.crm.award.timeout":       {"actions.crm.award.timeout", "5s", "weir.yaml:4", false},
		"actions.crm.award.header.X-Team": {"actions.crm.award.header.X-Team", "growth", "weir.yaml:6", false},
		"resources.wallet.rate":           {"resources.wallet.rate", "5/s", "weir.yaml:8", false},
		"tenants.acme.weight":             {"tenants.acme.weight", "2.5", "weir.yaml:10", false},
	} {
		if got := valueOf(s, key); got != want {
			t.Errorf("%s = %+v, want %+v", key, got, want)
		}
	}
	if d := s.Drain; time.Duration(d) != 30*time.Second {
		t.Errorf("drain = %v", d)
	}
}
