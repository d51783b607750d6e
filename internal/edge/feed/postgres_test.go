package feed_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// TestPostgres shares one server among its parts, since that takes a second to start.
func TestPostgres(t *testing.T) {
	s := testenv.Postgres(t)
	query := func(t *testing.T, key, sql string) *rig {
		return &rig{t: t, spec: feed.Spec{Postgres: &feed.Postgres{Connection: "there", Query: sql, Key: key}}, conn: feed.Connection{
			Kind: feed.KindPostgres, Address: s.Addr, User: s.User, Password: vault.NewSecret(s.Password), Database: s.Database, Plain: true,
		}}
	}
	for _, part := range []struct {
		name string
		run  func(t *testing.T, s *testenv.PostgresServer, query func(*testing.T, string, string) *rig)
	}{
		{"rows come exactly once through crashes", rowsOnce},
		{"keys of every type page in their own order", keyTypes},
		{"rows with equal keys stay together", equalKeys},
		{"large rows make small pages", largeRows},
		{"columns become members", columns},
		{"bad queries are permanent", badQueries},
		{"bad rows are permanent and named", badRows},
		{"bad rows are passed over where that is wanted", passedRows},
		{"a wrong sign-in is permanent", wrongSignIn},
		{"a slow query is given up", slowQuery},
		{"what TLS cannot protect is not read", noTLS},
		{"a server that comes back is read on", serverComesBack},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, s, query) })
	}
}

type queryRig = func(t *testing.T, key, sql string) *rig

func rowsOnce(t *testing.T, s *testenv.PostgresServer, query queryRig) {
	want := users(many())
	var rows []string
	for i, it := range want {
		rows = append(rows, fmt.Sprintf("('%s',%d,'%s')", it.ID, i, noise(i)))
	}
	s.Exec("CREATE TABLE users (id text, n int PRIMARY KEY, x text); INSERT INTO users VALUES " + strings.Join(rows, ","))
	r := query(t, "n", "SELECT id, n, x FROM users -- all of them\n;")
	r.spec.ID, r.spec.PageSize = "id", len(want)/12+1
	r.survives(want, int64(r.spec.PageSize)*90)
}

func keyTypes(t *testing.T, s *testenv.PostgresServer, query queryRig) {
	s.Exec("CREATE TYPE size AS ENUM ('small', 'large', 'huge'); CREATE DOMAIN code AS text")
	for _, sql := range []string{
		"SELECT (i * 1000003 % 997 - 500)::int8 AS k FROM generate_series(1, 180) i",
		"SELECT (i::numeric / 7) AS k FROM generate_series(1, 180) i",
		"SELECT (CASE WHEN i = 5 THEN 'NaN'::float8 ELSE i END / 3) AS k FROM generate_series(1, 180) i",
		"SELECT md5(i::text)::uuid AS k FROM generate_series(1, 180) i",
		"SELECT timestamptz '2026-03-29 00:30+01' + i * interval '7.000001 min' AS k FROM generate_series(1, 180) i",
		"SELECT date '0300-01-01' + i AS k FROM generate_series(1, 180) i",
		"SELECT decode(md5(i::text), 'hex') AS k FROM generate_series(1, 180) i",
		`SELECT chr(32 + i) || '''"\' AS k FROM generate_series(1, 180) i`,
		`SELECT (chr(32 + i) || 'x')::char(9) AS k FROM generate_series(1, 180) i`,
		`SELECT (i::text || 'é')::code COLLATE "C" AS k FROM generate_series(1, 180) i`,
		"SELECT i::bit(12) AS k FROM generate_series(1, 180) i",
		"SELECT k FROM unnest(enum_range(NULL::size)) k, generate_series(1, 60)",
	} {
		r := query(t, "k", "WITH x AS (SELECT *, row_number() OVER (ORDER BY k)::text AS id FROM ("+sql+") q) SELECT * FROM x")
		r.spec.ID, r.spec.PageSize = "id", 37
		got, _ := r.readOn("", true)
		for i, it := range got {
			if it.ID != fmt.Sprint(i+1) && !strings.Contains(sql, "enum") { // rows of one size have no order
				t.Fatalf("%s: item %d has id %s, want the order of the key", sql, i, it.ID)
			}
		}
		if len(got) != 180 {
			t.Errorf("%s: %d items, want 180", sql, len(got))
		}
	}
}

func equalKeys(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	r := query(t, "k", "SELECT (i / 64) * 1.0 + CASE WHEN i % 2 = 0 THEN 0.00 ELSE 0 END AS k, i AS id FROM generate_series(0, 1279) i")
	r.spec.ID, r.spec.PageSize = "id", 100
	got, _ := r.readOn("", true)
	seen := map[string]bool{}
	for _, it := range got {
		seen[it.ID] = true
	}
	if len(got) != 1280 || len(seen) != 1280 {
		t.Errorf("%d items with %d ids, want 1280 of each", len(got), len(seen))
	}
	r = query(t, "k", "SELECT 1 AS k, i AS id FROM generate_series(0, 20000) i")
	r.spec.ID, r.spec.PageSize = "id", 100
	_, err := r.first()
	isPermanent(t, err, feed.CodePageTooLarge, "same key")
}

func largeRows(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	r := query(t, "k", "SELECT i AS k, repeat('x', 200000) AS pad FROM generate_series(1, 100) i")
	p, err := r.first()
	if err != nil || p.Last || len(p.Items) < 40 || len(p.Items) > 45 {
		t.Fatalf("page has %d items, last %v, %v; want about 8 MiB of 200 kB each", len(p.Items), p.Last, err)
	}
	if got, _ := r.readOn("", true); len(got) != 100 || got[99].ID != "100" {
		t.Errorf("%d items, want all 100", len(got))
	}
}

func columns(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	r := query(t, "id", `SELECT 9007199254740993 AS id, 12345678901234567890.1234567890::numeric AS exact, 0.1::float8 AS f, true AS yes, NULL::int AS none,
		timestamptz '2026-03-29 03:30:00.25+02' AS at, timestamp '2026-01-02 03:04:05' AS wall, date '2026-01-02' AS day,
		'\x00ff'::bytea || repeat('a', 60)::bytea AS raw, '{"b": 1.0,  "a": 2}'::json AS doc, '{"b": 1.0, "a": [1e2]}'::jsonb AS docb,
		ARRAY[1,NULL,3] AS list, E'a"\\é\n' AS "odd ""name", interval '1 day 02:00' AS span, 'NaN'::float8 AS nan`)
	got, _ := r.readOn("", false)
	want := `{"id":9007199254740993,"exact":12345678901234567890.1234567890,"f":0.1,"yes":true,"none":null,` +
		`"at":"2026-03-29T01:30:00.25+00:00","wall":"2026-01-02T03:04:05","day":"2026-01-02",` +
		`"raw":"AP9hYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",` +
		`"doc":{"b": 1.0,  "a": 2},"docb":{"a": [100], "b": 1.0},"list":[1,null,3],"odd \"name":"a\"\\é\n","span":"P1DT2H","nan":"NaN"}`
	sameItems(t, "one row", got, []weir.RawItem{{ID: "9007199254740993", Value: []byte(want)}})
}

func badQueries(t *testing.T, s *testenv.PostgresServer, query queryRig) {
	s.Exec("CREATE TABLE precious (id int); INSERT INTO precious VALUES (1)")
	for _, tt := range []struct{ name, key, sql, says string }{
		{"no SQL", "id", "SELEKT 1", "syntax error"},
		{"an unknown table", "id", "SELECT * FROM nowhere", "nowhere"},
		{"two statements", "id", "SELECT 1 AS id; DELETE FROM precious", "multiple commands"},
		{"a change", "id", "DELETE FROM precious RETURNING id", "syntax error"},
		{"a change inside", "id", "WITH x AS (DELETE FROM precious RETURNING id) SELECT id FROM x", "data-modifying"},
		{"a lock", "id", "SELECT id FROM precious FOR UPDATE", "change something"},
		{"a new table", "id", "SELECT 1 AS id INTO more", ""},
		{"no rows at all", "id", "SET statement_timeout = 0", "no columns"},
		{"a way out of the parenthesis", "id", "SELECT 1 AS id) AS w; --", "syntax error"},
		{"half a way out", "id", "SELECT 1 AS id FROM precious) AS a, (SELECT 2", "syntax error"},
		{"a way out of reading", "id", "SELECT set_config('transaction_read_only', 'off', true) AS id", "read-write"},
		{"parameters", "id", "SELECT $1::int AS id", "parameters"},
		{"a column twice", "id", "SELECT 1 AS id, 2 AS id", "two columns"},
		{"no such key", "key", "SELECT 1 AS id", "there are: id"},
		{"a key without order", "id", "SELECT '{}'::json AS id", "ordering"},
		{"a key that is NULL", "id", "SELECT NULLIF(i, 5000) AS id FROM generate_series(1, 5000) i", "NULL"},
		{"a division by zero", "id", "SELECT 1 / (i - 3) AS id FROM generate_series(1, 5) i", "division by zero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := query(t, tt.key, tt.sql).first()
			isPermanent(t, err, feed.CodeBadQuery, tt.says)
		})
	}
	s.Exec("DO $$ BEGIN ASSERT (SELECT count(*) FROM precious) = 1; END $$")
}

func badRows(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	for _, tt := range []struct{ name, sql, code string }{
		{"no id", "SELECT i AS k, NULLIF(i, 7)::text AS id FROM generate_series(1, 9) i", feed.CodeMissingID},
		{"a long id", "SELECT i AS k, repeat('x', i * 43) AS id FROM generate_series(1, 9) i", ""},
		{"a huge row", "SELECT i AS k, i AS id, repeat('x', CASE i WHEN 7 THEN 300000 ELSE 1 END) AS pad FROM generate_series(1, 9) i", feed.CodeItemTooLarge},
		{"a member twice", `SELECT i AS k, i AS id, CASE i WHEN 7 THEN '{"a":1,"a":2}' ELSE '{}' END::json AS doc FROM generate_series(1, 9) i`, feed.CodeDuplicateKey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := query(t, "k", tt.sql)
			r.spec.ID, r.spec.PageSize = "id", 4
			p, err := r.first()
			if err != nil {
				t.Fatalf("the first page: %v", err)
			}
			_, err = r.open().Read(t.Context(), p.Next)
			if tt.code == "" {
				isPermanent(t, err, feed.CodeIDTooLong, "row 6, key 6")
				return
			}
			isPermanent(t, err, tt.code, "row 7, key 7")
		})
	}
}

func wrongSignIn(t *testing.T, s *testenv.PostgresServer, query queryRig) {
	r := query(t, "id", "SELECT 1 AS id")
	r.conn.Password = vault.NewSecret("loud-river")
	_, err := r.first()
	isPermanent(t, err, feed.CodeRefused, "sign-in")
	if strings.Contains(err.Error(), "loud-river") {
		t.Errorf("error = %q shows the password", err)
	}
	r = query(t, "id", "SELECT 1 AS id")
	r.conn.Database = "elsewhere"
	_, err = r.first()
	isPermanent(t, err, feed.CodeNotFound, "elsewhere")
	s.Exec("CREATE TABLE closed (id int); CREATE USER guest PASSWORD 'guest'")
	r = query(t, "id", "SELECT * FROM closed")
	r.conn.User, r.conn.Password = "guest", vault.NewSecret("guest")
	_, err = r.first()
	isPermanent(t, err, feed.CodeRefused, "may not")
}

func slowQuery(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	r := query(t, "id", "SELECT i AS id, pg_sleep(5) FROM generate_series(1, 5) i")
	r.spec.Timeout = api.Duration(100 * time.Millisecond)
	_, err := r.first()
	isTransient(t, err, 0)
}

func noTLS(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	r := query(t, "id", "SELECT 1 AS id")
	r.conn.Plain = false
	if _, err := r.first(); err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("error = %v, want that the server has no TLS", err)
	}
}

func serverComesBack(t *testing.T, s *testenv.PostgresServer, query queryRig) {
	r := query(t, "id", "SELECT i AS id FROM generate_series(1, 3000) i")
	f := r.open()
	p, err := f.Read(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	for range 2 { // the session that broke, and one that cannot be made
		_, err = f.Read(t.Context(), p.Next)
		isTransient(t, err, 0)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("error = %v, want the cause in it", err)
	}
	s.Restart()
	q, err := f.Read(t.Context(), p.Next)
	if err != nil || q.Items[0].ID != "1001" {
		t.Errorf("page after the restart = %d items, %v, want those from 1001 on", len(q.Items), err)
	}
}
