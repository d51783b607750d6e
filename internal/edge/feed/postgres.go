package feed

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirhq/weir"
)

// postgres reads the rows of a query in the order of a key, one query per page, so that neither
// side holds more than a page and a new feed continues behind the last key.
type postgres struct {
	spec   Spec
	config *pgconn.Config
	conn   *pgconn.PgConn // nil until the first read, and after an error
	hangUp func()
	sql    *pageSQL // set by the first read
}

// postgresPlace is the cursor of a query: the last key, as text of the key's type.
type postgresPlace struct {
	Key  *string `json:"key,omitempty"`
	Rows int64   `json:"rows,omitempty"` // read so far
	Done bool    `json:"done,omitempty"`
}

const hangUpIn = 5 * time.Second

func openPostgres(s Spec, find Lookup, w World) (Feed, error) {
	c, err := find.connection(s.Postgres.Connection, "postgres.connection", KindPostgres)
	if err != nil {
		return nil, err
	}
	config, err := c.postgres(w)
	if err != nil {
		in := &weir.InputError{}
		in.Add("bad_connection", "postgres.connection", err.Error(), "write its address as host:port")
		return nil, in
	}
	config.ConnectTimeout = time.Duration(s.Timeout)
	return &postgres{spec: s, config: config}, nil
}

// postgres returns the connection settings. None of them come from the environment.
func (c Connection) postgres(w World) (*pgconn.Config, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		host, port = c.Address, "5432"
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || strings.HasPrefix(host, "/") {
		return nil, fmt.Errorf("its address %q is not host:port", c.Address)
	}
	config, err := pgconn.ParseConfig("host=localhost user=weir sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.Host, config.Port = host, uint16(number)
	config.User, config.Password, config.Database = c.User, reveal(c.Password), c.Database
	config.RuntimeParams = map[string]string{"application_name": "weir"}
	config.Fallbacks, config.ValidateConnect = nil, nil
	config.DialFunc = w.Dial
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // Dial looks it up
	if !c.Plain {
		config.TLSConfig, err = c.tls(host)
	}
	return config, err
}

// Close ends the session.
func (f *postgres) Close() error {
	if f.conn != nil {
		f.hangUp()
	}
	f.conn = nil
	return nil
}

// Read runs the query for the rows behind the cursor's key.
func (f *postgres) Read(ctx context.Context, from Cursor) (Page, error) {
	var at postgresPlace
	if err := from.decode(KindPostgres, &at); err != nil {
		return Page{}, err
	}
	if at.Done {
		return Page{Next: from, Last: true}, nil
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(f.spec.Timeout))
	defer cancel()
	p, err := f.page(limited, at)
	if err != nil {
		_ = f.Close() // in an unknown state: the next read starts a new session
		return Page{}, databaseError(ctx, err)
	}
	return p, nil
}

func (f *postgres) page(ctx context.Context, at postgresPlace) (Page, error) {
	if err := f.connect(ctx); err != nil {
		return Page{}, err
	}
	if err := f.run(ctx, f.begin()); err != nil {
		return Page{}, err
	}
	if err := f.prepare(ctx); err != nil {
		return Page{}, err
	}
	if at.Key == nil {
		if err := f.refuseNull(ctx); err != nil {
			return Page{}, err
		}
	}
	p, err := f.rows(ctx, at)
	if err != nil {
		return Page{}, err
	}
	return p, f.run(ctx, "COMMIT")
}

func (f *postgres) connect(ctx context.Context) error {
	if f.conn != nil {
		return nil
	}
	conn, err := pgconn.ConnectConfig(ctx, f.config)
	if err != nil {
		return err
	}
	f.conn = conn
	f.hangUp = func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), hangUpIn)
		defer cancel()
		_ = conn.Close(end) // only read from
	}
	return nil
}

// run sends statements of our own.
func (f *postgres) run(ctx context.Context, sql string) error {
	return f.conn.Exec(ctx, sql).Close()
}

// begin returns the statements that open the transaction of a page. The settings make the text
// of keys and values the same everywhere; they are local, so that a connection pooler sees no
// session state.
func (f *postgres) begin() string {
	return fmt.Sprintf(`BEGIN READ ONLY;
SET LOCAL statement_timeout = %d;
SET LOCAL timezone = 'UTC';
SET LOCAL datestyle = 'ISO, YMD';
SET LOCAL intervalstyle = 'iso_8601';
SET LOCAL extra_float_digits = 1;
SET LOCAL client_encoding = 'UTF8'`, time.Duration(f.spec.Timeout).Milliseconds())
}

// refuseNull checks that no row lacks a key, because no page would ever reach it.
func (f *postgres) refuseNull(ctx context.Context) error {
	res := f.conn.ExecParams(ctx, f.sql.null, nil, nil, nil, nil).Read()
	if res.Err != nil {
		return res.Err
	}
	if len(res.Rows) > 0 {
		return permanent(CodeBadQuery, fmt.Sprintf("the key %q is NULL in at least one row", f.spec.Postgres.Key),
			"use another key, or leave such rows out by the query", nil)
	}
	return nil
}

// rows reads a page. It may end early when it has enough bytes, but never between two rows of the same key.
func (f *postgres) rows(ctx context.Context, at postgresPlace) (Page, error) {
	sql, args := f.sql.first, [][]byte(nil)
	if at.Key != nil {
		sql, args = f.sql.next, [][]byte{[]byte(*at.Key)}
	}
	res := f.conn.ExecParams(ctx, sql, args, nil, nil, nil)
	var p Page
	size, rank, full := 0, "", false
	for res.NextRow() {
		row := res.Values()
		if r := string(row[colRank]); r != rank {
			if full = size >= PageBytes; full {
				break
			}
			rank = r
		}
		key := string(row[colKey])
		it, bad := itemOf(string(row[colID]), bytes.Clone(row[colDocument]), f.spec.ID)
		if bad != nil && f.spec.SkipBad {
			p.skip(bad, it.Value)
			at.Key = &key
			continue
		}
		if bad == nil && (len(p.Items) >= f.spec.PageSize+MaxPageSize || size > 4*PageBytes) {
			bad = permanent(CodePageTooLarge,
				fmt.Sprintf("more rows have the same key %q than fit into a page",
					f.spec.Postgres.Key), "use a key with fewer rows for each value", nil)
		}
		if bad != nil {
			bad.Where = fmt.Sprintf("row %d, key %s", at.Rows+int64(len(p.Items))+p.Bad+1, excerpt(row[colKey]))
			_, _ = res.Close() // report the row's error
			return Page{}, bad
		}
		p.Items = append(p.Items, it)
		size += len(it.Value)
		at.Key = &key
	}
	if _, err := res.Close(); err != nil {
		return Page{}, err
	}
	read := int64(len(p.Items)) + p.Bad
	at.Rows += read
	at.Done = !full && read < int64(f.spec.PageSize)
	p.Next, p.Last = encode(KindPostgres, at), at.Done
	return p, nil
}
