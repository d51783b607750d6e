package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
)

var keys = kind[api.Key]{
	noun: "key", arg: "ID", of: (*client.Client).Keys,
	view: command.NewView("keys", "id", "id, name, scopes, tenants, last used=last_used_at, expires=expires_at, revoked=revoked_at",
		"created=created_at, created by, key", command.Texts[api.Key]{
			"tenants": func(x *api.Key) any { return cmp.Or(strings.Join(x.Tenants, ","), "all") },
		}),
}

func keysCommand() command.Command {
	return command.Command{Use: "keys", Short: "manage API keys: list, get, create, revoke", Subs: []command.Command{
		keys.list("list the API keys, without their text", ""), keys.get("show an API key, without its text"),
		{Use: "create NAME", Short: "create an API key; its text is shown once", Args: command.Args(1, 1, "NAME"),
			Example: `  weir keys create nightly --scope submit --scope read --tenant growth --expires 2160h`, Bind: bindKeyCreate},
		{Use: "revoke ID", Short: "revoke an API key permanently", Args: command.Args(1, 1, "ID"),
			Bind: func(fs *pflag.FlagSet) command.Runner {
				yes := command.YesFlag(fs)
				return keys.show(fs, func(ctx context.Context, l *link.Link, id string) (api.Key, error) {
					if err := l.Env.Confirm(ctx, *yes, "revoking %s", id); err != nil {
						return api.Key{}, err
					}
					return l.RevokeKey(ctx, id)
				})
			}},
	}}
}

func bindKeyCreate(fs *pflag.FlagSet) command.Runner {
	var k api.Key
	var expires config.Span
	fs.StringSliceVar(&k.Scopes, "scope", nil, "`SCOPE`: read, submit, control, approve or admin; repeatable")
	fs.StringSliceVar(&k.Tenants, "tenant", nil, "`TENANT` that the key may access; repeatable (default all)")
	fs.Var(&expires, "expires", "time until the key expires, as in 2160h (default never)")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		if len(k.Scopes) == 0 {
			return command.BadUsage("add what it may do, as in --scope read", "--scope is missing")
		}
		k.Name = args[0]
		if expires > 0 {
			k.ExpiresAt = time.Now().Add(time.Duration(expires)).UTC().Truncate(time.Second)
		}
		made, err := l.Keys().Create(ctx, k)
		if err != nil {
			return err
		}
		if err := command.One(l.Printer, keys.view, made); err != nil {
			return err
		}
		l.Say("keep the key: it is not shown again")
		return nil
	})
}

func auditCommand() command.Command {
	return command.Command{
		Use: "audit", Short: "list the audit log: who changed what, when, and from where", Args: command.Args(0, 0, ""),
		Example: `  weir audit --action bulk_action.cancel --since 24h
  weir audit --limit 0 -o csv > audit.csv`,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			var f client.AuditFilter
			var since string
			fs.StringVar(&f.Tenant, "tenant", "", "only changes to objects of this `TENANT`")
			fs.StringVar(&f.Target, "target", "", "only changes to the object with this `ID` or name")
			fs.StringVar(&f.Actor, "actor", "", "only changes made with the API key `ID`")
			fs.StringVar(&f.Action, "action", "", "only this `ACTION`, as in bulk_action.cancel, or a prefix, as in key.")
			fs.StringVar(&since, "since", "", "only changes since this `TIME`, as in 24h or 2030-01-31T18:00:00Z")
			limit := command.LimitFlag(fs, 50)
			return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
				var err error
				if f.From, err = command.Ago("--since", since); err != nil {
					return err
				}
				return command.List(l.Printer, auditView, l.Audit(ctx, f), *limit)
			})
		},
	}
}

var auditView = command.NewView[api.AuditEntry]("entries", "id", "at, actor, action, target, tenant, reason, from", "", nil)

func apiCommand() command.Command {
	return command.Command{
		Use: "api METHOD PATH", Short: "send a request to the HTTP API",
		Long: `Sends a request with your API key and prints the response. The /v1 at the start of the path is optional.`,
		Example: `  weir api GET /v1/scale
  weir api POST /v1/items/lookup -d '{"id":"user-42"}'
  weir api PUT actions/send-message -d @action.json`,
		Args: command.Args(2, 2, "METHOD PATH"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			data := fs.StringP("data", "d", "", "`JSON` to send; @FILE reads a file, - stdin")
			key := fs.String("key", "", "Idempotency-`KEY` of a POST (default: generated)")
			r := &link.Server{}
			r.Bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				return r.Ask(ctx, env, command.JSON, func(ctx context.Context, l *link.Link) error {
					if *key != "" {
						ctx = client.WithKey(ctx, *key)
					}
					return callAPI(ctx, l, strings.ToUpper(args[0]), args[1], *data)
				})
			}
		},
	}
}

// callAPI sends a request and prints the response.
func callAPI(ctx context.Context, l *link.Link, method, path, data string) error {
	if !strings.HasPrefix(path, "/") {
		path = "/v1/" + path
	}
	var in any
	if data != "" {
		raw, err := l.Env.ReadArgument(data)
		if err != nil {
			return err
		}
		if !json.Valid(raw) {
			return command.BadUsage("check its quotes and commas", "-d is not valid JSON")
		}
		in = json.RawMessage(raw)
	}
	var out []byte
	if err := l.Do(ctx, method, path, in, &out); err != nil {
		return err
	}
	if len(out) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(l.Env.Stdout, strings.TrimSuffix(command.Indented(out), "\n"))
	return err
}
