package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pageSQL is the user's query with paging around it.
type pageSQL struct {
	first, next string // next has the last key as its parameter
	null        string // has a row if a key is NULL
}

// The columns of a page.
const (
	colDocument = iota
	colKey
	colID
	colRank // the same for rows whose keys are equal
)

// prepare lets the database parse the query on its own, so that it is one complete statement
// and cannot end inside the paging around it, and return its columns.
func (f *postgres) prepare(ctx context.Context) error {
	if f.sql != nil {
		return nil
	}
	query := strings.TrimRight(strings.TrimSpace(f.spec.Postgres.Query), "; \t\r\n")
	desc, err := f.conn.Prepare(ctx, "", query, nil)
	if err != nil {
		return err
	}
	if bad := f.checkColumns(desc); bad != nil {
		return bad
	}
	keyType, err := f.typeName(ctx, columnNamed(desc.Fields, f.spec.Postgres.Key).DataTypeOID)
	if err != nil {
		return err
	}
	f.sql = pagedSQL(query, f.spec, desc.Fields, keyType)
	return nil
}

func (f *postgres) checkColumns(desc *pgconn.StatementDescription) *PermanentError {
	bad := func(fix, format string, args ...any) *PermanentError {
		return permanent(CodeBadQuery, fmt.Sprintf(format, args...), fix, nil)
	}
	var names []string
	for _, c := range desc.Fields {
		if slices.Contains(names, c.Name) {
			return bad("give every column its own name with AS", "the query has two columns named %q", c.Name)
		}
		names = append(names, c.Name)
	}
	switch {
	case len(desc.ParamOIDs) > 0:
		return bad("write the values into the query", "the query has parameters such as $1")
	case len(names) == 0:
		return bad("use a SELECT", "the query gives no columns")
	case !slices.Contains(names, f.spec.Postgres.Key):
		return bad("have the query give it; there are: "+strings.Join(names, ", "), "the key %q is not a column of the query",
			f.spec.Postgres.Key)
	case !slices.Contains(names, f.spec.ID):
		return bad("have the query give it; there are: "+strings.Join(names, ", "), "the id %q is not a column of the query", f.spec.ID)
	}
	return nil
}

func columnNamed(fields []pgconn.FieldDescription, name string) pgconn.FieldDescription {
	return fields[slices.IndexFunc(fields, func(c pgconn.FieldDescription) bool { return c.Name == name })]
}

// typeName returns a type in SQL. The modifier -1 keeps "character" from meaning one character.
func (f *postgres) typeName(ctx context.Context, oid uint32) (string, error) {
	res := f.conn.ExecParams(ctx, "SELECT pg_catalog.format_type($1::pg_catalog.oid, -1)",
		[][]byte{fmt.Append(nil, oid)}, nil, nil, nil).Read()
	if res.Err != nil {
		return "", res.Err
	}
	return string(res.Rows[0][0]), nil
}

// pagedSQL wraps paging around a query. WITH TIES keeps rows of equal keys together; the
// database turns the rows into JSON, since it knows all of its types and rounds no number.
func pagedSQL(query string, s Spec, fields []pgconn.FieldDescription, keyType string) *pageSQL {
	var members []string
	for _, c := range fields {
		name := quoteName(c.Name)
		value := "p." + name
		if c.DataTypeOID == pgtype.ByteaOID { // encode cuts base64 into lines
			value = fmt.Sprintf("pg_catalog.translate(pg_catalog.encode(p.%s, 'base64'), pg_catalog.chr(10), '') AS %s", name, name)
		}
		members = append(members, value)
	}
	key, id := quoteName(s.Postgres.Key), quoteName(s.ID)
	page := func(where string) string {
		return fmt.Sprintf(`WITH page AS (
SELECT * FROM (
%s
) AS w %s ORDER BY w.%s FETCH FIRST %d ROWS WITH TIES
)
SELECT (SELECT pg_catalog.row_to_json(d) FROM (SELECT %s) AS d), p.%[3]s::pg_catalog.text, p.%[6]s::pg_catalog.text,
pg_catalog.dense_rank() OVER (ORDER BY p.%[3]s) FROM page AS p ORDER BY p.%[3]s`, query, where, key, s.PageSize, strings.Join(members, ", "), id)
	}
	return &pageSQL{
		first: page(""),
		next:  page(fmt.Sprintf("WHERE w.%s > $1::pg_catalog.text::%s", key, keyType)),
		null:  fmt.Sprintf("SELECT FROM (\n%s\n) AS w WHERE w.%s IS NULL LIMIT 1", query, key),
	}
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// passing lists the classes of Postgres errors that are transient: connection, rollback by
// conflict, lack of resources, intervention by an operator (which includes a timeout), system.
var passing = []string{"08", "40", "53", "57", "58"}

// databaseError distinguishes permanent errors from transient ones.
func databaseError(ctx context.Context, err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || len(e.Code) < 2 {
		return unreachable(ctx, "read from Postgres", err)
	}
	class := e.Code[:2]
	switch {
	case slices.Contains(passing, class), e.Code == "55P03":
		return transient(ctx, "read from Postgres", err)
	case class == "28":
		return permanent(CodeRefused, "Postgres refuses the sign-in", "check user and password of the connection", e)
	case class == "3D":
		return permanent(CodeNotFound, "no such database", "check the connection", e)
	case e.Code == "42501":
		return permanent(CodeRefused, "the connection's user may not do that", "grant it SELECT on what the query reads", e)
	case e.Code == "25006":
		return permanent(CodeBadQuery, "the query wants to change something", "use a SELECT that only reads", e)
	}
	return permanent(CodeBadQuery, "Postgres refuses the query", "check query and key", e)
}
