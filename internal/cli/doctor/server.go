package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/cli/term"
)

// askServer asks a running server how it is, and what it takes us for.
func askServer(ctx context.Context, env *command.Env, address string) (all []finding) {
	ctx, cancel := context.WithTimeout(ctx, 3*askFor)
	defer cancel()
	l, err := (&link.Server{URL: address}).Open(env)
	if err != nil {
		f, _ := errors.AsType[*command.Failure](err)
		return append(all, trouble(fail, "server", f.Fix, "%s", f.What))
	}
	defer l.Close()
	alive, err := askHealth(ctx, l, "/healthz")
	if err != nil {
		return append(all, trouble(fail, "server", "check the address, and the server's log", "%v", err))
	}
	all = append(all, found("server", "%s responds", l.Server()))
	ready, err := askHealth(ctx, l, "/readyz")
	switch {
	case err != nil:
		all = append(all, trouble(fail, "server", "look into its log", "%v", err))
	case ready.Status != "ok":
		all = append(all, trouble(fail, "server", "look into its log", "%s answers /readyz with %s: %s", l.Server(),
			ready.status, strings.Join(ready.Problems, "; ")))
	default:
		all = append(all, found("server", "accepts work; version %s, durability %s", alive.Version, ready.Durability))
	}
	return append(all, keyCheck(ctx, l), skewCheck(alive.at))
}

// health holds the health of a server and the time of its clock.
type health struct {
	api.Health
	status string
	at     time.Time
}

// askHealth asks how the server is. A response that it is not well is a result, too.
func askHealth(ctx context.Context, l *link.Link, path string) (h health, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.Server()+path, nil)
	if err != nil {
		return h, err
	}
	web := &http.Client{Timeout: askFor}
	defer web.CloseIdleConnections()
	a, err := web.Do(r)
	if err != nil {
		return h, &client.UnreachableError{Server: l.Server(), Err: serve.Innermost(err)}
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(a.Body, 1<<20))
	if err != nil {
		return h, err
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if kind != "application/json" || json.Unmarshal(raw, &h.Health) != nil || h.Status == "" {
		return h, &client.UnreachableError{Server: l.Server(), Status: a.StatusCode,
			Err: errors.New("the response to " + path + " (" + a.Status + ") is not from a weir server")}
	}
	h.status = a.Status
	h.at, _ = http.ParseTime(a.Header.Get("Date")) // zero: not told
	return h, nil
}

// keyCheck asks what the key is good for.
func keyCheck(ctx context.Context, l *link.Link) finding {
	const name = "api key"
	who, err := l.WhoAmI(ctx)
	if p, refused := errors.AsType[*api.Problem](err); refused {
		f := command.Refusal(p)
		return trouble(fail, name, f.Fix, "%s", f.What)
	}
	if err != nil {
		return trouble(warn, name, "", "%v", err)
	}
	return found(name, "%s has scope %s", who.Name, strings.Join(who.Scopes, ", "))
}

// maxSkew limits the difference between clocks: schedules, deadlines and signatures depend on them.
const maxSkew = 30 * time.Second

// skewCheck compares the clocks, as far as a header tells that has no parts of a second.
func skewCheck(theirs time.Time) finding {
	const name = "server clock"
	apart := time.Since(theirs).Abs().Truncate(time.Second)
	switch {
	case theirs.IsZero():
		return found(name, "the server sent no Date header")
	case apart > maxSkew:
		return trouble(warn, name, "synchronise both with chrony, ntpd or systemd-timesyncd",
			"it differs from the clock of this machine by %s", term.Span(apart))
	}
	return found(name, "agrees with the clock of this machine")
}
