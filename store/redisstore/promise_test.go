package redisstore_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"

	"github.com/weirhq/weir"
)

func TestOpenRefusesAServerThatKeepsLessThanPromised(t *testing.T) {
	r := testenv.Redis(t)
	for _, tt := range []struct {
		name     string
		settings string // name=value, ...
		mode     redisstore.Mode
		refusal  string // part of the error; empty: opened
	}{
		{"disk on a log that is synced always", "appendonly=yes appendfsync=always", redisstore.Disk, ""},
		{"disk on a log that is synced every second", "appendonly=yes appendfsync=everysec", redisstore.Disk, "this server has appendonly yes and appendfsync everysec"},
		{"disk without a log", "appendonly=no appendfsync=always", redisstore.Disk, "this server has appendonly no"},
		{"memory on a log that is synced every second", "appendonly=yes appendfsync=everysec", redisstore.Memory, ""},
		{"memory without a log", "appendonly=no appendfsync=no", redisstore.Memory, ""},
		{"a server that evicts", "maxmemory-policy=allkeys-lru", redisstore.Memory, `maxmemory-policy is "allkeys-lru"`},
		{"a server that evicts what expires", "maxmemory-policy=volatile-ttl", redisstore.Memory, "set it to noeviction"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
			for _, s := range strings.Fields(tt.settings) {
				name, value, _ := strings.Cut(s, "=")
				r.Do("CONFIG", "SET", name, value)
			}
			wantRefusal(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: tt.mode}, tt.refusal)
		})
	}
}

func TestAServerThatHidesItsSettingsGivesMemoryOnly(t *testing.T) {
	r := testenv.Redis(t, "appendfsync", "always")
	r.Do("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-config")
	o := redisstore.Options{Addresses: []string{r.Addr}, Username: "app", Password: "secret"}
	wantRefusal(t, o, "does not tell its appendfsync")
	o.Mode = redisstore.Memory
	wantRefusal(t, o, "")
	o.Password = "wrong"
	wantRefusal(t, o, "WRONGPASS")
}

func TestEveryNodeOfAClusterThatAnswersIsAsked(t *testing.T) {
	t.Parallel()
	c := testenv.NewCluster(t)
	c.Replicas[1].Kill()
	wantRefusal(t, redisstore.Options{Addresses: c.Addrs(), Mode: redisstore.Memory}, "")
	c.Primaries[2].Do("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	wantRefusal(t, redisstore.Options{Addresses: c.Addrs()[:1], Mode: redisstore.Memory}, "server "+c.Primaries[2].Addr+": maxmemory-policy")
}

// wantRefusal opens a store, and checks that the error has a text, or that there is none.
func wantRefusal(t *testing.T, o redisstore.Options, text string) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := redisstore.Open(t.Context(), o)
	if err == nil {
		defer s.Close()
		if got := s.Durability(); got != o.Mode.String() {
			t.Errorf("Durability() = %q, want %q", got, o.Mode)
		}
		if err := s.Health(); err != nil {
			t.Errorf("Health() = %v", err)
		}
	}
	if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("Open() = %v, want an error with %q", err, text)
	}
}

func TestOptionsThatCannotWorkAreNamed(t *testing.T) {
	for _, tt := range []struct {
		field string
		opts  redisstore.Options
	}{
		{"Addresses", redisstore.Options{}},
		{"Stage", redisstore.Options{Addresses: []string{"x:1"}, Stage: "a}b"}},
		{"Stage", redisstore.Options{Addresses: []string{"x:1"}, Stage: strings.Repeat("a", 65)}},
		{"Replicas", redisstore.Options{Addresses: []string{"x:1"}, Mode: redisstore.Replicated}},
		{"Replicas", redisstore.Options{Addresses: []string{"x:1"}, Replicas: 1}},
		{"Strict", redisstore.Options{Addresses: []string{"x:1"}, Strict: true}},
		{"Mode", redisstore.Options{Addresses: []string{"x:1"}, Mode: 7}},
	} {
		_, err := redisstore.Open(t.Context(), tt.opts)
		var bad *weir.InputError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.field) {
			t.Errorf("Open(%+v) = %v, want an error about %s", tt.opts, err, tt.field)
		}
	}
}
