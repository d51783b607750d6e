package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/mount"
)

// Options configures [New]. VaultKey has to be set, and one of Principal, AdminKeys and Open, unless the store has API
// keys already.
type Options struct {
	// Prefix is the path under which clients reach the handler, as in "/bulk". Links, redirects and cookies have it.
	// Requests are answered with it and without: a proxy, or [http.StripPrefix], may have removed it. Default: none.
	Prefix string
	// Principal returns the caller of a request to the API or the pages, from a cookie or header of your own. It
	// returns a *[SignInError] if no one is signed in; any other error is answered with 500 and logged. It may be called
	// several times for a request, and must not read its body. Default: API keys, which POST /v1/keys creates.
	Principal func(*http.Request) (Principal, error)
	// AdminKeys are API keys of full access, for creating others: at least 32 characters each.
	AdminKeys []string
	// Open allows everything to requests without a key that come in on a loopback address, for development.
	Open bool
	// VaultKey seals secrets in the store and the sessions of the pages: the content of a key file, see
	// [VaultKeyFile]. All processes on a store need the same.
	VaultKey []byte
	// Hosts are the names that the header Host may have, as in "example.com" or "*.example.com". Default: every name;
	// with Open, those of loopback.
	Hosts []string
	// Origins are those of pages whose scripts may use the API with a key, as in "https://app.example.com". Default: none.
	Origins []string
	// Egress lists private addresses that HTTP actions, sources and webhooks made over the API may call, as in
	// "10.0.0.0/8" or "192.168.1.5:8443"; "loopback" is this machine. Default: public addresses only.
	Egress []string
	// ReadOnlyPages has the pages show everything and change nothing. The API is not concerned.
	ReadOnlyPages bool
	// Limits bounds what requests may take.
	Limits Limits
	// LogRequests logs every request.
	LogRequests bool
	// Metrics is where the service exports what it counts, and what /metrics shows. The engine has an option of its
	// own, for which the same registry is meant. Default: nowhere, and /metrics is not found.
	Metrics *prometheus.Registry
	// Logger takes the log. Default [slog.Default].
	Logger *slog.Logger
}

// Limits bounds what requests may take. Zero values are the defaults.
type Limits struct {
	Body              int64 // bytes of a JSON request; default 8 MiB
	Memory            int64 // bytes of JSON requests at once, decoded values included; default 256 MiB
	Upload            int64 // bytes of an upload or of a body with items; default 16 GiB
	Items             int64 // of a bulk action; default 100 million
	RequestsPerSecond int   // of a caller; default 200
	Uploads           int   // of a caller at once; default 8
	Streams           int   // of events, of a caller at once; default 32
	Exports           int   // reports, exports and searches at once; default 4
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Body: cmp.Or(l.Body, 8<<20), Memory: cmp.Or(l.Memory, 256<<20), Upload: cmp.Or(l.Upload, 16<<30),
		Items: cmp.Or(l.Items, 100_000_000), RequestsPerSecond: cmp.Or(l.RequestsPerSecond, 200), Uploads: cmp.Or(l.Uploads, 8),
		Streams: cmp.Or(l.Streams, 32), Exports: cmp.Or(l.Exports, 4),
	}
}

// validate finds options that cannot be meant.
func (o *Options) validate() error {
	var bad weir.InputError
	for i, origin := range o.Origins {
		if fault, fix := mount.BadOrigin(origin); fault != "" {
			bad.Add("bad_value", fmt.Sprintf("Origins[%d]", i), fmt.Sprintf("%q %s", origin, fault), fix)
		}
	}
	if fault, fix := mount.BadPrefix(o.Prefix); fault != "" {
		bad.Add("bad_value", "Prefix", fault, fix)
	}
	if len(o.VaultKey) == 0 {
		bad.Add("missing_field", "VaultKey", "is empty",
			"use server.VaultKeyFile, or generate a key with openssl rand -base64 32 and keep it: it opens the secrets in the store")
	}
	if o.Principal != nil && (len(o.AdminKeys) > 0 || o.Open) {
		bad.Add("bad_value", "Principal", "excludes AdminKeys and Open", "let Principal decide about every caller")
	}
	if len(o.AdminKeys) > 0 && o.Open {
		bad.Add("bad_value", "Open", "excludes AdminKeys", "set one of them")
	}
	for _, k := range o.AdminKeys {
		if len(k) < 32 {
			bad.Add("bad_value", "AdminKeys", "a key has less than 32 characters", "generate one with openssl rand -hex 32")
		}
	}
	for _, l := range []struct {
		field string
		value int64
	}{
		{"Body", o.Limits.Body}, {"Memory", o.Limits.Memory}, {"Upload", o.Limits.Upload}, {"Items", o.Limits.Items},
		{"RequestsPerSecond", int64(o.Limits.RequestsPerSecond)}, {"Uploads", int64(o.Limits.Uploads)},
		{"Streams", int64(o.Limits.Streams)}, {"Exports", int64(o.Limits.Exports)},
	} {
		if l.value < 0 {
			bad.Add("out_of_range", "Limits."+l.field, "is less than 0", "leave it 0 for the default")
		}
	}
	return bad.OrNil()
}
