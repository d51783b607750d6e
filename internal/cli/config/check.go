package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/mount"
)

// faultAt notes what is wrong with the value of a key.
type faultAt func(key, problem, fix string)

// check holds settings against each other and against their bounds.
func check(s *Server, fault faultAt) {
	checkBounds(s, fault)
	checkStore(s, fault)
	checkReach(s, fault)
	checkHosts(s, fault)
	checkOrigins(s, fault)
	checkPrefix(s, fault)
	checkKeys(s, fault)
	checkEgress(s, fault)
	checkActions(s, fault)
	checkTenants(s, fault)
	checkConnections(s, fault)
	checkTraces(s, fault)
}

// bound is the range of a whole number.
type bound struct {
	key       string
	v         int
	low, high int64
	optional  bool // 0 means not set
}

// bounds lists the whole numbers of s that have a range.
func bounds(s *Server) []bound {
	return []bound{
		{"partitions", s.Partitions, 1, 256, true},
		{"slots", s.Slots, 1, 1_000_000, false},
		{"workers", s.Workers, 1, 1_000_000, false},
		{"redis_replicas", s.RedisReplicas, 1, 16, true},
		{"limits.item_count", s.Limits.ItemCount, 1, 1 << 40, false},
		{"limits.pending_items", s.Limits.PendingItems, 1, 1 << 40, false},
		{"limits.requests_per_second", s.Limits.RequestsPerSecond, 1, 1_000_000, false},
		{"limits.uploads", s.Limits.Uploads, 1, 10_000, false},
		{"limits.streams", s.Limits.Streams, 1, 100_000, false},
		{"limits.exports", s.Limits.Exports, 1, 1_000, false},
	}
}

func checkBounds(s *Server, fault faultAt) {
	for _, b := range bounds(s) {
		if (int64(b.v) < b.low || int64(b.v) > b.high) && !(b.optional && b.v == 0) {
			fault(b.key, fmt.Sprintf("%d is not between %d and %d", b.v, b.low, b.high), "")
		}
	}
	for _, d := range []struct {
		key string
		v   Duration
	}{{"lease", s.Lease}, {"drain", s.Drain}} {
		if t := time.Duration(d.v); t < time.Second || t > time.Hour {
			fault(d.key, fmt.Sprintf("%v is not between 1s and 1h", t), "")
		}
	}
}

// checkStore wants a store that can do what is asked for.
func checkStore(s *Server, fault faultAt) {
	embedded := len(s.Redis) == 0
	switch {
	case embedded && s.Role != RoleAll:
		fault("role", fmt.Sprintf("%s needs a store that other nodes can reach", s.Role), "name it with redis, or use role all")
	case embedded && s.Durability == DurableReplicated:
		fault("durability", "the embedded store has no replicas", "name a Redis with redis, or use disk")
	case s.Durability == DurableReplicated && s.RedisReplicas == 0:
		fault("durability", "replicated needs the number of replicas that each primary has", "write it as redis_replicas")
	case s.Durability != DurableReplicated && s.RedisReplicas > 0:
		fault("redis_replicas", fmt.Sprintf("has no effect with durability %s", s.Durability),
			"use durability replicated, or leave this out")
	}
	if embedded && s.Data == "" {
		fault("data", "is empty", "name a directory")
	}
	for _, r := range s.Stage {
		if r <= ' ' || r >= 0x7f || r == '{' || r == '}' || r == ':' || len(s.Stage) > 64 {
			fault("stage", fmt.Sprintf("%q is not a name", s.Stage), "use up to 64 letters, digits and dashes")
			break
		}
	}
	s.checkRedis(fault)
	checkPair("redis_tls", s.RedisTLS.Cert, s.RedisTLS.Key, fault)
}

// checkReach requires TLS if other machines can reach the server, or a setting that a proxy terminates TLS.
func checkReach(s *Server, fault faultAt) {
	checkPair("tls", s.TLS.Cert, s.TLS.Key, fault)
	if s.TLS.ClientCA != "" && s.TLS.Cert == "" {
		fault("tls.client_ca", "client certificates need TLS", "set tls.cert and tls.key, too")
	}
	for _, f := range []struct{ key, path string }{{"tls.cert", s.TLS.Cert}, {"tls.client_ca", s.TLS.ClientCA},
		{"redis_tls.ca", s.RedisTLS.CA}, {"redis_tls.cert", s.RedisTLS.Cert}} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			fault(f.key, fmt.Sprintf("%s: %v", f.path, cause(err)), "check the path and its permissions")
		}
	}
	for _, a := range []struct {
		key     string
		address Address
	}{{"listen", s.Listen}, {"admin_listen", s.AdminListen}} {
		if a.key == "admin_listen" && s.AdminListen == s.Listen || a.address.Local() || s.TLS.Cert != "" || s.TLS.Proxy {
			continue
		}
		fault(a.key, fmt.Sprintf("other machines can reach %s, and without TLS the API keys would be sent unencrypted", a.address),
			"set tls.cert and tls.key; or tls.proxy: true if a proxy in front terminates TLS; or listen on 127.0.0.1")
	}
}

// checkPrefix wants a path that cannot be taken for one of the server's own.
func checkPrefix(s *Server, fault faultAt) {
	if what, fix := mount.BadPrefix(s.Prefix); what != "" {
		fault("prefix", fmt.Sprintf("%q %s", s.Prefix, what), fix)
	}
}

// checkHosts wants names as they are in the header Host, without scheme and port.
func checkHosts(s *Server, fault faultAt) {
	for i, host := range s.AllowedHosts {
		name := strings.TrimPrefix(host, "*.")
		_, err := netip.ParseAddr(name)
		if host == "*" || err == nil || name != "" && strings.Trim(strings.ToLower(name),
			"abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" {
			continue
		}
		fault(fmt.Sprintf("allowed_hosts[%d]", i), fmt.Sprintf("%q is not a host name", host),
			"write it as in weir.example.com or *.example.com, without scheme and port")
	}
}

// checkOrigins wants origins as browsers send them.
func checkOrigins(s *Server, fault faultAt) {
	for i, origin := range s.AllowedOrigins {
		if what, fix := mount.BadOrigin(origin); what != "" {
			fault(fmt.Sprintf("allowed_origins[%d]", i), fmt.Sprintf("%q %s", origin, what), fix)
		}
	}
}

// Reachable reports whether other machines reach the server, so that it must have keys.
func (s *Server) Reachable() bool { return !s.Listen.Local() || !s.AdminListen.Local() }

func checkPair(key, cert, private string, fault faultAt) {
	if (cert == "") != (private == "") {
		given, missing := ".cert", ".key"
		if cert == "" {
			given, missing = missing, given
		}
		fault(key+given, "needs "+key+missing, "set both, or none")
	}
}

// checkKeys requires keys that cannot be guessed.
func checkKeys(s *Server, fault faultAt) {
	if k := s.AdminKey.Reveal(); k != "" && (len(k) < 32 || strings.ContainsAny(k, " \t\r\n")) {
		fault("admin_key_file", "the key has fewer than 32 characters, or blanks in it", "generate one with openssl rand -hex 32")
	}
	checkVault(s, fault)
}

func checkEgress(s *Server, fault faultAt) {
	_, err := egress.ParseAllow("egress.allow", s.Egress.Allow)
	if bad, ok := errors.AsType[*weir.InputError](err); ok {
		for _, f := range bad.Fields {
			fault(f.Field, f.Problem, f.Fix)
		}
	}
}

func checkActions(s *Server, fault faultAt) {
	for _, name := range slices.Sorted(maps.Keys(s.Actions)) {
		a, key := s.Actions[name], "actions."+name
		if a.URL == "" {
			fault(key, "has no url", "write the URL of its endpoint, as in url: https://push.example.com/batch")
		}
		if a.Action != "" || a.Name != "" {
			fault(key, "has a name twice", "remove the keys name and action: the name of the action is "+name)
		}
		if _, ok := s.Resources[a.Resource]; a.Resource != "" && !ok {
			fault(key+".resource", fmt.Sprintf("unknown resource %q", a.Resource), "add it under resources, or leave the key out")
		}
	}
}

func checkTenants(s *Server, fault faultAt) {
	for _, name := range slices.Sorted(maps.Keys(s.Tenants)) {
		t := s.Tenants[name]
		for _, b := range []struct {
			key string
			v   int
		}{{"max_tasks", t.MaxTasks}, {"max_pending", t.MaxPending}} {
			if b.v < 0 {
				fault("tenants."+name+"."+b.key, fmt.Sprintf("%d is negative", b.v), "write the maximum, or leave the key out")
			}
		}
	}
}

// webhookName matches names that can be part of a webhook's id.
var webhookName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

var connectionKinds = []string{"http", "postgres", "s3", "kafka"}

func checkConnections(s *Server, fault faultAt) {
	for _, name := range slices.Sorted(maps.Keys(s.Connections)) {
		c, key := s.Connections[name], "connections."+name
		if !slices.Contains(connectionKinds, c.Kind) {
			fault(key+".kind", fmt.Sprintf("%q is not a kind of connection", c.Kind), "write one of "+strings.Join(connectionKinds, ", "))
		}
		if c.Address == "" {
			fault(key, "has no address", "write its address, as in address: db.example.com:5432")
		}
		checkPair(key+".tls", c.TLS.Cert, c.TLS.Key, fault)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Webhooks)) {
		w := s.Webhooks[name]
		if !webhookName.MatchString(name) {
			fault("webhooks."+name, "is not a valid name", "use letters, digits, '.', '-' and '_', at most 64")
		}
		if w.Topic != "" {
			if s.Connections[w.Connection].Kind != "kafka" || w.URL != "" {
				fault("webhooks."+name, "has a topic, and needs a connection of kind kafka and no url",
					"write connection: and the name of one under connections")
			}
			if w.SecretFile != "" {
				fault("webhooks."+name+".secret_file", "events in a topic are not signed",
					"leave the key out; the connection signs in to the brokers")
			}
			continue
		}
		if u, err := url.Parse(w.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			fault("webhooks."+name, "has no url that begins with https://",
				"write the URL of its endpoint, as in url: https://you.example.com/events")
		}
	}
}
