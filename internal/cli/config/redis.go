package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"

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

// RedisServers reads the URLs of Redis.
func (s *Server) RedisServers() Redis {
	return s.checkRedis(func(string, string, string) {}) // Load has told
}

// checkRedis reads the URLs of Redis and tells what is wrong with them.
func (s *Server) checkRedis(fault faultAt) Redis {
	out := Redis{Password: s.RedisPassword}
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
		if i > 0 && (one.Primary != out.Primary || one.Username != out.Username || one.TLS != out.TLS ||
			!one.Password.Equal(out.Password)) {
			fault(key, "differs from the first in more than its address", "give all the same scheme, user, password and primary")
			continue
		}
		one.Addresses = append(out.Addresses, one.Addresses...)
		out = one
	}
	return out
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
