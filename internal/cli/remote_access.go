package cli

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
	"github.com/weirhq/weir/internal/cli/config"
)

func keyView() view[api.Key] {
	type k = api.Key
	return view[k]{
		plural: "keys",
		id:     func(x *k) string { return x.ID },
		columns: []column[k]{
			{"id", func(x *k) any { return x.ID }},
			{"name", func(x *k) any { return x.Name }},
			{"scopes", func(x *k) any { return x.Scopes }},
			{"tenants", func(x *k) any { return cmp.Or(strings.Join(x.Tenants, ","), "all") }},
			{"last used", func(x *k) any { return x.LastUsed }},
			{"expires", func(x *k) any { return x.ExpiresAt }},
			{"revoked", func(x *k) any { return x.RevokedAt }},
		},
		more: []column[k]{
			{"created", func(x *k) any { return x.CreatedAt }},
			{"created by", func(x *k) any { return x.CreatedBy }},
			{"key", func(x *k) any { return x.Key }},
		},
	}
}

func keysCommand() command {
	return command{use: "keys", short: "manage API keys: list, create, revoke", subs: []command{
		{use: "list", short: "list the API keys, without their text", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error { return list(l, keyView(), l.Keys(ctx), 0) })
		}},
		{use: "create NAME", short: "create an API key; its text is shown once", args: between(1, 1, "NAME"),
			example: `  weir keys create nightly --scope submit --scope read --tenant growth --expires 2160h`, bind: bindKeyCreate},
		{use: "revoke ID", short: "revoke an API key permanently", args: between(1, 1, "ID"), bind: func(fs *pflag.FlagSet) runner {
			yes := yesFlag(fs)
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				if err := l.confirm(ctx, *yes, "revoking %s", args[0]); err != nil {
					return err
				}
				k, err := l.RevokeKey(ctx, args[0])
				if err != nil {
					return err
				}
				return one(l, keyView(), k)
			})
		}},
	}}
}

func bindKeyCreate(fs *pflag.FlagSet) runner {
	var k api.Key
	var expires config.Span
	fs.StringSliceVar(&k.Scopes, "scope", nil, "`SCOPE`: read, submit, control, approve or admin; repeatable")
	fs.StringSliceVar(&k.Tenants, "tenant", nil, "`TENANT` that the key may access; repeatable (default all)")
	fs.Var(&expires, "expires", "time until the key expires, as in 2160h (default never)")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		if len(k.Scopes) == 0 {
			return badUsage("add what it may do, as in --scope read", "--scope is missing")
		}
		k.Name = args[0]
		if expires > 0 {
			k.ExpiresAt = time.Now().Add(time.Duration(expires)).UTC().Truncate(time.Second)
		}
		made, err := l.CreateKey(ctx, k)
		if err != nil {
			return err
		}
		if err := one(l, keyView(), made); err != nil {
			return err
		}
		l.say("keep the key: it is not shown again")
		return nil
	})
}

func auditCommand() command {
	return command{
		use: "audit", short: "list the audit log: who changed what, when, and from where", args: between(0, 0, ""),
		example: `  weir audit --action bulk_action.cancel --since 24h
  weir audit --limit 0 -o csv > audit.csv`,
		bind: func(fs *pflag.FlagSet) runner {
			var f client.AuditFilter
			var since string
			fs.StringVar(&f.Tenant, "tenant", "", "only changes to objects of this `TENANT`")
			fs.StringVar(&f.Target, "target", "", "only changes to the object with this `ID` or name")
			fs.StringVar(&f.Actor, "actor", "", "only changes made with the API key `ID`")
			fs.StringVar(&f.Action, "action", "", "only this `ACTION`, as in bulk_action.cancel, or a prefix, as in key.")
			fs.StringVar(&since, "since", "", "only changes since this `TIME`, as in 24h or 2030-01-31T18:00:00Z")
			limit := limitFlag(fs, 50)
			return online(fs, func(ctx context.Context, l *link, _ []string) error {
				var err error
				if f.From, err = ago("--since", since); err != nil {
					return err
				}
				return list(l, auditView(), l.Audit(ctx, f), *limit)
			})
		},
	}
}

func auditView() view[api.AuditEntry] {
	type a = api.AuditEntry
	return view[a]{plural: "entries", id: func(x *a) string { return x.ID }, columns: []column[a]{
		{"at", func(x *a) any { return x.At }},
		{"actor", func(x *a) any { return x.Actor }},
		{"action", func(x *a) any { return x.Action }},
		{"target", func(x *a) any { return x.Target }},
		{"tenant", func(x *a) any { return x.Tenant }},
		{"reason", func(x *a) any { return x.Reason }},
		{"from", func(x *a) any { return x.From }},
	}}
}

func apiCommand() command {
	return command{
		use: "api METHOD PATH", short: "send a request to the HTTP API",
		long: `Sends a request with your API key and prints the response. The /v1 at the start of the path is optional.`,
		example: `  weir api GET /v1/scale
  weir api POST /v1/items/lookup -d '{"id":"user-42"}'
  weir api PUT actions/send-message -d @action.json`,
		args: between(2, 2, "METHOD PATH"),
		bind: func(fs *pflag.FlagSet) runner {
			data := fs.StringP("data", "d", "", "`JSON` to send; @FILE reads a file, - stdin")
			key := fs.String("key", "", "Idempotency-`KEY` of a POST (default: generated)")
			r := &remote{}
			r.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				return r.ask(ctx, env, outJSON, func(ctx context.Context, l *link) error {
					if *key != "" {
						ctx = client.WithKey(ctx, *key)
					}
					return l.raw(ctx, strings.ToUpper(args[0]), args[1], *data)
				})
			}
		},
	}
}

// raw calls the API and prints what comes.
func (l *link) raw(ctx context.Context, method, path, data string) error {
	if !strings.HasPrefix(path, "/") {
		path = "/v1/" + path
	}
	var in any
	if data != "" {
		raw, err := l.env.readArgument(data)
		if err != nil {
			return err
		}
		if !json.Valid(raw) {
			return badUsage("check its quotes and commas", "-d is not valid JSON")
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
	_, err := fmt.Fprintln(l.env.Stdout, strings.TrimSuffix(indented(out), "\n"))
	return err
}
