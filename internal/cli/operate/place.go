package operate

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// place selects the fleet of a command: a server, a data directory, or a Redis.
type place struct {
	flags              *pflag.FlagSet
	data, redis, stage string
	link.Server
}

// redisVariable names the Redis of a fleet, so that its password is on no command line.
const redisVariable = "WEIR_REDIS"

func (p *place) bind(fs *pflag.FlagSet) {
	p.flags = fs
	command.Grouped(fs, "Where", func(fs *pflag.FlagSet) {
		fs.StringVar(&p.URL, "server", "", "`URL` of a running server (default $"+command.ServerVariable+")")
		fs.StringVar(&p.data, "data", local.DefaultData, "data `DIR`, while no process uses it")
		fs.StringVar(&p.redis, "redis", "",
			"`URL` of the Redis or Valkey of a running fleet, as in redis://host:6379 (default $"+redisVariable+")")
		fs.StringVar(&p.stage, "stage", "prod", "`NAME` of the environment on that Redis")
	})
}

// desk is an operator session: it reads the state of a fleet and changes its settings.
type desk struct {
	env    *command.Env
	engine *engine.Operator
	place  string // for messages
	flags  string // that lead here again, for commands to be repeated
	close  func() error
}

// there does something at the server, or at the desk if no server is asked. It can simply be done again, so a signal
// ends it.
func (p *place) there(ctx context.Context, env *command.Env, out command.Format, remote func(context.Context, *link.Link) error,
	local func(context.Context, *desk) error) error {
	switch {
	case p.URL != "" && (p.flags.Changed("data") || p.flags.Changed("redis")):
		return command.BadUsage("keep one of them", "--server does not go together with --data or --redis")
	case p.Meant(env, p.flags):
		return p.Ask(ctx, env, out, remote)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	d, err := p.openDesk(ctx, env)
	if err != nil {
		return err
	}
	return errors.Join(local(ctx, d), d.close())
}

func (p *place) openDesk(ctx context.Context, env *command.Env) (*desk, error) {
	address := cmp.Or(p.redis, env.Getenv(redisVariable))
	if p.redis != "" && p.flags.Changed("data") {
		return nil, command.BadUsage("keep the one that the fleet uses", "--data and --redis do not go together")
	}
	if address == "" || p.flags.Changed("data") {
		return p.openData(ctx, env)
	}
	return p.openRedis(ctx, env, address)
}

func (p *place) openData(ctx context.Context, env *command.Env) (*desk, error) {
	l, err := local.Open(ctx, env, p.data, local.Options{})
	if err != nil {
		return nil, err
	}
	return &desk{env, l.Engine.Operator(), p.data, l.DataFlag(), l.Close}, nil
}

func (p *place) openRedis(ctx context.Context, env *command.Env, address string) (*desk, error) {
	o, err := redisOptions(address)
	if err != nil {
		return nil, err
	}
	o.Stage, o.Logger = p.stage, slog.New(slog.DiscardHandler)
	st, err := redisstore.Open(ctx, o)
	if err != nil {
		return nil, redisRefused(err)
	}
	d := &desk{env: env, engine: engine.NewOperator(st), close: st.Close,
		place: fmt.Sprintf("stage %s of %s", p.stage, o.Addresses[0])}
	if p.redis != "" {
		d.flags = " --redis " + term.Quote(redacted(address))
	}
	if p.flags.Changed("stage") {
		d.flags += " --stage " + term.Quote(p.stage)
	}
	if _, err := d.engine.Partitions(ctx); errors.Is(err, store.ErrNotFound) {
		return nil, errors.Join(command.BadUsage("name the fleet's environment with --stage, or check the address",
			"no engine has ever run in %s", d.place), d.close())
	} else if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func redisRefused(err error) error {
	var input *weir.InputError
	if errors.As(err, &input) {
		return command.BadUsage("", "--stage: %v", input)
	}
	return command.Other(err, "check the address, and that the server is up")
}

// redisOptions reads the URL of a Redis. The server is asked for no more than that it has what is written: the settings
// are as safe there as the servers keep everything else.
func redisOptions(address string) (redisstore.Options, error) {
	r, problem := config.ParseRedis(address)
	o := redisstore.Options{Mode: redisstore.Memory, Addresses: r.Addresses, Username: r.Username, Password: r.Password.Reveal(),
		Primary: r.Primary}
	if problem != "" {
		return o, command.BadUsage(config.RedisFix, "--redis: %s", problem)
	}
	if r.TLS {
		host, _, _ := net.SplitHostPort(r.Addresses[0]) // ParseRedis has joined it
		o.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

// redacted is an address without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "URL"
	}
	return u.Redacted()
}

// newestOf holds the last decisions about a lane.
type newestOf struct {
	acting, shadow *weir.Decision
	need, useful   float64
}

// decided returns the last decisions about every lane.
func (d *desk) decided(ctx context.Context) (map[weir.LaneID]newestOf, error) {
	plan, err := d.engine.Plan(ctx)
	all := map[weir.LaneID]newestOf{}
	for i := range plan.Lanes {
		l := &plan.Lanes[i]
		all[l.Lane] = newestOf{l.Decision, l.Shadow, l.Need, l.Useful}
	}
	return all, err
}

// known lists the lanes that a node runs, that have a decision, or that are pinned.
func (d *desk) known(ctx context.Context) ([]weir.LaneID, error) {
	nodes, err := d.engine.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	decided, err := d.decided(ctx)
	if err != nil {
		return nil, err
	}
	s, err := d.engine.Settings(ctx)
	if err != nil {
		return nil, err
	}
	var all []weir.LaneID
	for _, n := range nodes {
		for i := range n.Lanes {
			all = append(all, n.Lanes[i].ID)
		}
	}
	for id := range decided {
		all = append(all, id)
	}
	for id := range s.Pins {
		all = append(all, id)
	}
	slices.SortFunc(all, compareLanes)
	return slices.Compact(all), nil
}

func compareLanes(a, b weir.LaneID) int {
	return cmp.Or(a.Partition-b.Partition, cmp.Compare(a.Resource, b.Resource))
}
