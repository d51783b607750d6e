package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
)

// All lists the connections by name, with secrets hidden.
func (s *Connections) All(ctx context.Context) ([]api.Connection, error) {
	var out []api.Connection
	made := map[string]bool{}
	for e, err := range s.table.All(ctx, "") {
		if err != nil {
			return nil, err
		}
		made[e.Name] = true
		out = append(out, s.shown(&e.Value))
	}
	for _, c := range s.file {
		if !made[c.Name] {
			out = append(out, s.shownFile(c))
		}
	}
	slices.SortFunc(out, func(a, b api.Connection) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// shown returns a connection of the API as responses show it, together with the file's
// settings.
func (s *Connections) shown(record *storedConnection) api.Connection {
	c := record.api()
	c.Secret, c.Provenance = hideAll(c.Secret), Provenance("api", record.Set)
	if file := s.inFile(c.Name); file != nil {
		said := s.shownFile(*file)
		c.File = &said
	}
	return c
}

func (s *Connections) shownFile(c api.Connection) api.Connection {
	c.Secret, c.Provenance = hideAll(c.Secret), Provenance("file", weir.Stamp{At: s.began})
	return c
}

func (s *Connections) inFile(name string) *api.Connection {
	i := slices.IndexFunc(s.file, func(c api.Connection) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.file[i]
}

// Get returns one connection, with secrets hidden, and its version. Connections of the file
// have no version.
func (s *Connections) Get(ctx context.Context, name string) (api.Connection, string, error) {
	e, err := s.table.Get(ctx, name)
	if c := s.inFile(name); c != nil && errors.Is(err, weir.ErrNotFound) {
		return s.shownFile(*c), "", nil
	}
	if err != nil {
		return api.Connection{}, "", err
	}
	return s.shown(&e.Value), e.Version, nil
}

// Put creates or changes a connection. Sources use it from their next page on. Restarts
// keep it, whatever the configuration file says. May decides whether the caller may change the
// existing connection.
func (s *Connections) Put(ctx context.Context, c api.Connection, by string, match records.Match,
	may func(api.Connection) error) (api.Connection, string, error) {
	if err := s.check(&c); err != nil {
		return c, "", err
	}
	c.Provenance, c.File = api.Provenance{}, nil
	e, err := s.table.PutIf(ctx, c.Name, match, nil, func(v *storedConnection, found bool) (err error) {
		before := v.api()
		if file := s.inFile(c.Name); !found && file != nil {
			before, found = *file, true
		}
		if found {
			if err := may(before); err != nil {
				return err
			}
		}
		c := c // sealed anew if the record was changed meanwhile
		if c.Secret, err = sealAll(s.vault, "connection/"+c.Name, "secret", c.Secret, v.Secret); err == nil {
			*v = connectionRecord(&c, Stamp(by))
		}
		return err
	})
	return s.shown(&e.Value), e.Version, err
}

// secretNames and optionNames list the fields of connections, besides secrets named header.….
var (
	secretNames = []string{"password", "token", "signing", "private_key"}
	optionNames = []string{"user", "database", "region", "sasl", "plain", "ca", "certificate"}
)

func (s *Connections) check(c *api.Connection) error {
	var bad weir.InputError
	if err := check.Name("name", c.Name); err != nil {
		check.Add(&bad, err, "bad_name", "name")
	}
	if c.URL == "" {
		bad.Add("missing_field", "url", "is empty", "give its address")
	}
	if strings.Contains(c.URL, "@") {
		bad.Add("bad_url", "url", "holds a user or a password", "put them into option.user and secret.password")
	} else if c.URL != "" && (c.Kind == "http" || c.Kind == "s3") {
		if _, err := s.guard.CheckURL("url", c.URL); err != nil {
			check.Add(&bad, err, "bad_url", "url")
		}
	} else if c.URL != "" {
		checkHosts(&bad, c.Kind, c.URL)
	}
	for k, v := range c.Secret {
		if name, _ := strings.CutPrefix(k, "header."); (name == k || name == "") && !slices.Contains(secretNames, k) {
			bad.Add("bad_value", "secret."+k, "is not a known secret", "known: "+strings.Join(secretNames, ", ")+", header.…")
		}
		if vault.IsSealed(v) {
			bad.Add("bad_value", "secret."+k, "is a sealed secret", "send the plain value; the server seals it before it is stored")
		}
	}
	for k := range c.Option {
		if !slices.Contains(optionNames, k) {
			bad.Add("bad_value", "option."+k, "is not a known option", "known: "+strings.Join(optionNames, ", "))
		}
	}
	return bad.OrNil()
}

// checkHosts refuses what is not the address of a database, or a list of brokers.
func checkHosts(bad *weir.InputError, kind, text string) {
	all, fix := []string{text}, "write host:port, as in db.example.com:5432, and the database into option.database"
	if kind == "kafka" {
		all, fix = strings.Split(text, ","), "write host:port,host:port, as in broker-1.example.com:9092,broker-2.example.com:9092"
	}
	for _, one := range all {
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port = one, "1" // the port has a default
		}
		number, err := strconv.ParseUint(port, 10, 16)
		if plain := net.ParseIP(host) != nil || !strings.ContainsAny(host, ":/?#[] "); err != nil || number == 0 || host == "" || !plain {
			bad.Add("bad_url", "url", fmt.Sprintf("%.64q is not the address of a %s server", one, kind), fix)
			return
		}
	}
}

// Delete removes a connection that was created over the API. If the configuration file
// has a connection of this name, that one applies again. Otherwise sources that need it fail from
// then on.
func (s *Connections) Delete(ctx context.Context, name string, match records.Match, may func(api.Connection) error) error {
	err := s.table.DeleteMatch(ctx, name, match, func(v *storedConnection) error { return may(v.api()) })
	if s.inFile(name) != nil && errors.Is(err, weir.ErrNotFound) {
		return FromFile("the settings of connection", name)
	}
	return err
}

const (
	tryFor   = 15 * time.Second
	tryItems = 3
)

// Test tests whether a connection works. A connection that does not work is a result,
// not an error.
func (s *Connections) Test(ctx context.Context, name string, in api.ConnectionTest) (api.ConnectionResult, error) {
	c, err := s.find(name)
	if err != nil {
		return api.ConnectionResult{}, err
	}
	src := stored.SourceOf(in.Source)
	if src != nil {
		if err := sourceUses(src, name); err != nil {
			return api.ConnectionResult{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	began := time.Now()
	var out api.ConnectionResult
	switch {
	case src != nil:
		out.Items, err = s.trySource(ctx, src, c)
		out.Detail = fmt.Sprintf("read %d items", len(out.Items))
	case c.Kind == "http":
		out.Detail, err = s.tryHTTP(ctx, c)
	case c.Kind == "postgres":
		_, err = s.trySource(ctx, &stored.Source{Postgres: &stored.PostgresSource{Connection: name, Query: "SELECT 1 AS id",
			Key: "id"}}, c)
		out.Detail = "the database answers"
	default:
		err = s.tryDial(ctx, c)
		out.Detail = "the address accepts connections; give a source to read from it"
	}
	out.OK, out.Took = err == nil, api.Duration(time.Since(began))
	if err != nil {
		out.Detail, out.Code = err.Error(), tryCode(err)
	}
	return out, nil
}

// tryCode returns a code for the reason a test failed.
func tryCode(err error) string {
	var forever *feed.PermanentError
	var field *weir.FieldError
	switch {
	case errors.As(err, &forever):
		return forever.Code
	case errors.As(err, &field):
		return field.Code
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "unreachable"
}

// sourceUses requires a source to use a connection.
func sourceUses(src *stored.Source, name string) error {
	used := ""
	switch {
	case src.Segment != nil:
		used = src.Segment.Connection
	case src.Postgres != nil:
		used = src.Postgres.Connection
	case src.Object != nil:
		used = src.Object.Connection
	case src.Kafka != nil:
		used = src.Kafka.Connection
	}
	if used == name {
		return nil
	}
	return &weir.FieldError{Code: "bad_value", Field: "source.connection",
		Problem: fmt.Sprintf("%.64q is not the connection under test", used), Fix: "name " + name}
}

// trySource reads the first items of a source.
func (s *Connections) trySource(ctx context.Context, src *stored.Source, c api.Connection) ([]api.Item, error) {
	spec, err := feedSpec(&stored.Spec{Source: src})
	if err != nil {
		return nil, err
	}
	f, err := feed.Open(spec, func(string) (feed.Connection, error) { return feedConnection(c), nil }, s.world)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	items, err := feed.Preview(ctx, f, tryItems)
	var out []api.Item
	for _, it := range items {
		out = append(out, api.Item{ID: it.ID, Data: validJSON(it.Value)})
	}
	return out, err
}

// tryHTTP sends a request to the connection's own address.
func (s *Connections) tryHTTP(ctx context.Context, c api.Connection) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return "", err
	}
	for k, v := range c.Secret {
		if name, ok := strings.CutPrefix(k, "header."); ok {
			req.Header.Set(name, v)
		}
	}
	if t := c.Secret["token"]; t != "" {
		req.Header.Set("Authorization", "Bearer "+t)
	}
	resp, err := s.world.Client.Do(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	text := "it answered " + resp.Status
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return text, &feed.PermanentError{Code: feed.CodeRefused, Problem: text, Fix: "check the secrets of the connection"}
	}
	return text, nil
}

// tryDial tests whether the address accepts connections.
func (s *Connections) tryDial(ctx context.Context, c api.Connection) error {
	address, _, _ := strings.Cut(c.URL, ",")
	if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
		address = u.Host
		if u.Port() == "" {
			address += map[bool]string{true: ":443", false: ":80"}[u.Scheme == "https"]
		}
	}
	conn, err := s.world.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
