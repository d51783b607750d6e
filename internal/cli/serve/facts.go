package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
)

// fact is a line about the server that is shown at its start.
type fact struct{ name, text string }

// tell says once what was started: a line for each fact on a terminal, one record in the log elsewhere.
func (s *serving) tell(ctx context.Context) {
	facts := s.facts(ctx)
	notify(ctx, s.env, "READY=1")
	if s.conf.Log.Format == config.LogJSON || s.conf.Log.Format == config.LogAuto && s.env.Terminal == nil {
		var attrs []slog.Attr
		for _, f := range facts {
			attrs = append(attrs, slog.String(f.name, f.text))
		}
		s.log.LogAttrs(ctx, slog.LevelInfo, "serving", attrs...)
		return
	}
	scr := s.env.Screen()
	for _, f := range facts {
		scr.Print("  " + scr.Paint.Dim(term.Pad(f.name, 11)) + f.text)
	}
}

func (s *serving) facts(ctx context.Context) []fact {
	all := []fact{{"url", s.doors[0].url()}}
	if len(s.doors) > 1 {
		all = append(all, fact{"operators", s.doors[1].url()})
	}
	last := s.doors[len(s.doors)-1] // the pages are where the routes of operators are
	all = append(all, fact{"pages", last.url() + s.conf.Prefix + "/ui/"})
	if r := s.conf.RedisAddresses(); len(r) > 0 {
		all = append(all, fact{"redis", strings.Join(r, ", ") + ", stage " + s.conf.Stage})
	} else {
		all = append(all, fact{"data", s.conf.Data})
	}
	all = append(all, fact{"durability", durabilityWords(s.store.Durability())}, fact{"role", string(s.conf.Role)},
		fact{"node", s.Engine.Name()})
	// one that cannot be asked now may be asked later
	if nodes, err := s.Engine.Operator().Nodes(ctx); err == nil && len(s.conf.Redis) > 0 {
		all = append(all, fact{"others", term.Plural(int64(len(nodes)), "node", "nodes")})
	}
	return all
}

// durabilityWords describes each mode.
func durabilityWords(mode string) string {
	return mode + map[string]string{
		"disk": ": accepted work survives a loss of power", "memory": ": a crash of the store can lose the last second of accepted work",
		"replicated": ": accepted work survives the loss of any one machine",
	}[mode]
}

// notify tells systemd, if it has started us, how far we are.
func notify(ctx context.Context, env *command.Env, state string) {
	socket := env.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if rest, ok := strings.CutPrefix(socket, "@"); ok {
		socket = "\x00" + rest
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixgram", socket)
	if err != nil {
		return // no supervisor listens
	}
	defer conn.Close()
	fmt.Fprint(conn, state)
}
