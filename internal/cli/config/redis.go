package config

import (
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

const redisFix = "write it as in redis://host:6379, redis://user@host:6379 or redis://sentinel:26379?primary=NAME; rediss:// is TLS"

// RedisServers reads the URLs of Redis.
func (s *Server) RedisServers() Redis {
	return s.checkRedis(func(string, string, string) {}) // Load has told
}

// checkRedis reads the URLs of Redis and tells what is wrong with them. No text
// of a URL is repeated: it may hold a password.
func (s *Server) checkRedis(fault faultAt) Redis {
	out := Redis{Password: s.RedisPassword}
	for i, raw := range s.Redis {
		key := fmt.Sprintf("redis[%d]", i)
		u, err := url.Parse(raw)
		if problem := redisProblem(u, err); problem != "" {
			fault(key, problem, redisFix)
			continue
		}
		port := u.Port()
		if port == "" {
			port = "6379"
		}
		one := Redis{Primary: u.Query().Get("primary"), Username: u.User.Username(), TLS: u.Scheme == "rediss", Password: s.RedisPassword}
		if word, ok := u.User.Password(); ok && s.RedisPassword.IsZero() {
			one.Password = vault.NewSecret(word)
		}
		if i > 0 && (one.Primary != out.Primary || one.Username != out.Username || one.TLS != out.TLS ||
			!one.Password.Equal(out.Password)) {
			fault(key, "differs from the first in more than its address", "give all the same scheme, user, password and primary")
			continue
		}
		one.Addresses = append(out.Addresses, net.JoinHostPort(u.Hostname(), port))
		out = one
	}
	return out
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
