package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/weirhq/weir/internal/service/vault"
)

// Redis holds the addresses and credentials of a shared store.
type Redis struct {
	Addresses []string // as host:port
	Primary   string   // the name under which Sentinels know the server; empty without Sentinels
	Username  string
	Password  vault.Secret
	TLS       bool
}

// RedisFix says how the URL of a Redis is written.
const RedisFix = "write it as in redis://host:6379, redis://user@host:6379 or redis://sentinel:26379?primary=NAME; rediss:// is TLS"

// RedisServers reads the URLs of Redis: one set of addresses, or one for each of several unrelated servers.
func (s *Server) RedisServers() []Redis {
	return s.checkRedis(func(string, string, string) {}) // Load has told
}

// RedisAddresses lists the addresses of all servers.
func (s *Server) RedisAddresses() (all []string) {
	for _, r := range s.RedisServers() {
		all = append(all, r.Addresses...)
	}
	return all
}

// checkRedis reads the URLs of Redis and tells what is wrong with them.
func (s *Server) checkRedis(fault faultAt) (out []Redis) {
	if s.RedisSpread && len(s.Redis) < 2 {
		fault("redis_spread", fmt.Sprintf("has no effect with %d URLs", len(s.Redis)), "name several servers in redis, or leave this out")
	}
	for i, raw := range s.Redis {
		key := fmt.Sprintf("redis[%d]", i)
		one, problem := ParseRedis(raw)
		if problem != "" {
			fault(key, problem, RedisFix)
			continue
		}
		if !s.RedisPassword.IsZero() {
			one.Password = s.RedisPassword
		}
		at := s.setOf(out, one)
		switch {
		case at < 0:
			out = append(out, one)
		case one.Primary != out[at].Primary || one.Username != out[at].Username || one.TLS != out[at].TLS ||
			!one.Password.Equal(out[at].Password):
			fault(key, "differs from the first in more than its address",
				"give all the same scheme, user, password and primary, or set redis_spread if they are unrelated")
		default:
			out[at].Addresses = append(out[at].Addresses, one.Addresses...)
		}
	}
	return out
}

// setOf returns the servers to which a URL adds an address; -1: it names others.
func (s *Server) setOf(sets []Redis, one Redis) int {
	if !s.RedisSpread {
		return min(len(sets), 1) - 1
	}
	return slices.IndexFunc(sets, func(r Redis) bool { return r.Primary != "" && r.Primary == one.Primary })
}

// ParseRedis reads redis://[user[:password]@]host[:port][?primary=NAME]. A problem does not repeat the URL, which may hold
// a password.
func ParseRedis(raw string) (r Redis, problem string) {
	u, err := url.Parse(raw)
	if problem = redisProblem(u, err); problem != "" {
		return r, problem
	}
	r = Redis{
		Addresses: []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))}, Primary: u.Query().Get("primary"),
		Username: u.User.Username(), TLS: u.Scheme == "rediss",
	}
	if word, ok := u.User.Password(); ok {
		r.Password = vault.NewSecret(word)
	}
	return r, ""
}

func redisProblem(u *url.URL, err error) string {
	switch {
	case err != nil:
		return "this is not a URL"
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return fmt.Sprintf("the scheme is %q", u.Scheme)
	case u.Hostname() == "":
		return "the host is missing"
	case u.Path != "" && u.Path != "/" && u.Path != "/0":
		return fmt.Sprintf("weir uses database 0, not %q", u.Path)
	}
	for name := range u.Query() {
		if name != "primary" {
			return fmt.Sprintf("unknown setting %q", name)
		}
	}
	return ""
}
