package server

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/draft"
)

func (s *Server) appendRoutes() {
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	items := ask(access.Submit, "bulk_action.append", bulkPath+"/{id}/items", "items", "Add items to a draft").
		about("Accepts all items of the body, or none. The body may have any size and may be compressed with gzip or zstd.")
	items.DefaultStatus, items.change, items.stream = http.StatusAccepted, true, true
	items.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/x-ndjson": text, "text/csv": text,
		"application/json": {Schema: &huma.Schema{Type: huma.TypeArray,
			Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}},
	}}
	add(s, items, s.appendItems)
	add(s, post(access.Submit, "bulk_action.import", bulkPath+"/{id}/import", "items",
		"Read the items of an empty draft from an upload or a source").
		about("The source is read at once, and the bulk action is sealed when all items are read. Then start it."),
		ofBulk(s, s.importItems))
}

func (s *Server) importItems(ctx context.Context, in *about[api.Source]) (*body[api.BulkAction], error) {
	var b api.BulkAction
	err := s.svc.Drafts.Import(ctx, in.ID, in.Body, caller(ctx).KeyID)
	if err == nil {
		b, err = s.svc.Bulks.Get(ctx, in.ID)
	}
	return s.orDone(ctx, in.ID, b, true, err)
}

type appendInput struct {
	BulkID
	Key       string `header:"Idempotency-Key" doc:"An append with the same key and body changes nothing and gets the first response, up to a week after the seal"`
	ItemID    string `query:"item_id" maxLength:"128" doc:"The member or column that holds the id. Default: item_id of the bulk action"`
	Delimiter string `query:"delimiter" maxLength:"1" doc:"CSV delimiter. Default: detected"`
	OnBadLine string `query:"on_bad_line" enum:"refuse,record" doc:"Default: on_bad_line of the bulk action"`
	request   *http.Request
}

// Resolve implements huma.Resolver: it gets at the request, whose body is read as it comes.
func (in *appendInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	return nil
}

func (s *Server) appendItems(ctx context.Context, in *appendInput) (*appended, error) {
	if p := wantType(in.request, "application/json", "application/x-ndjson", "text/csv"); p != nil {
		return nil, p
	}
	if _, p := idempotencyKey(in.request.Header); p != nil {
		return nil, p
	}
	b, err := s.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	known, err := s.svc.Drafts.KnowsAppend(ctx, in.ID, in.Key)
	if err != nil {
		return nil, err
	}
	if known {
		return s.appendAgain(ctx, in, b.Tenant)
	}
	how, err := s.svc.Drafts.HowToAppend(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var at places
	rows, end, err := s.rows(in, how, &at)
	if err != nil {
		return nil, err
	}
	defer end()
	out, again, err := s.svc.Drafts.Append(ctx, in.ID, in.Key, rows)
	if twice := (*weir.DuplicateError)(nil); errors.As(err, &twice) {
		return nil, ofTwiceAt(twice, &at)
	}
	if err != nil {
		return nil, err
	}
	if again {
		return repeatOf(ctx, in.ID, b.Tenant, out), nil
	}
	changed(ctx, in.ID, b.Tenant)
	return &appended{Body: out}, nil
}

// appendAgain answers an append whose key is known, also after the seal. The body
// is read for the comparison with the first one alone.
func (s *Server) appendAgain(ctx context.Context, in *appendInput, tenant string) (*appended, error) {
	digest := sha256.New()
	plain, err := s.plain(in.request, digest)
	if err == nil {
		_, err = io.Copy(io.Discard, plain)
	}
	if err != nil {
		return nil, causeOf(err)
	}
	out, err := s.svc.Drafts.AppendedBefore(ctx, in.ID, in.Key, digest.Sum(nil))
	if err != nil {
		return nil, err
	}
	return repeatOf(ctx, in.ID, tenant, out), nil
}

// repeatOf is the answer to an append that was accepted before.
func repeatOf(ctx context.Context, id, tenant string, out api.Appended) *appended {
	changed(ctx, id, tenant)
	visitOf(ctx).replayed = true
	return &appended{Replayed: "true", Body: out}
}

// plain unpacks a body; digest takes it as it comes, unless it is nil.
func (s *Server) plain(r *http.Request, digest io.Writer) (io.Reader, error) {
	if digest != nil {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, digest), r.Body}
	}
	return unpack(r, s.opts.MaxUpload)
}

// appended is the answer to an append. A repeat is known by its own record, not by a kept answer.
type appended struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true in the response to a repeat"`
	Body     api.Appended
}

// rows reads the items of a body.
func (s *Server) rows(in *appendInput, how draft.HowToAppend, at *places) (draft.Rows, func(), error) {
	var rows draft.Rows
	if in.Key != "" { // nothing else is compared with it
		rows.Digest = sha256.New()
	}
	plain, err := s.plain(in.request, rows.Digest)
	if err != nil {
		return draft.Rows{}, nil, err
	}
	kind, _, _ := mime.ParseMediaType(in.request.Header.Get("Content-Type")) // it was checked
	o := source.Options{IDColumn: how.ItemID, Names: how.Columns,
		Format: map[string]source.Format{"text/csv": source.CSV, "application/x-ndjson": source.NDJSON}[kind]}
	if kind == "application/json" {
		o.Format = source.JSON
	}
	if in.ItemID != "" {
		o.IDColumn = in.ItemID
	}
	if in.Delimiter != "" {
		o.Delimiter = []rune(in.Delimiter)[0]
	}
	if in.OnBadLine != "" {
		how.Record = in.OnBadLine == "record"
	}
	r, err := openUTF8(plain, o)
	if err != nil {
		return draft.Rows{}, nil, causeOf(err)
	}
	var bad int64
	rows.Items, rows.Bad = good(r, how, at, &bad), func() int64 { return bad }
	return rows, func() { _ = r.Close() }, nil
}

// openUTF8 reads a body that has to be UTF-8: nothing says what else it could be.
func openUTF8(plain io.Reader, o source.Options) (*source.Reader, error) {
	text := bufio.NewReader(plain)
	head, err := text.Peek(2)
	if isProblem(err) {
		return nil, err
	}
	if string(head) == "\xff\xfe" || string(head) == "\xfe\xff" {
		return nil, newProblem("bad_encoding", "the body is UTF-16, from byte 0", "send UTF-8")
	}
	o.Encoding = "utf-8"
	return source.Open(text, "body", o)
}

// causeOf prefers our own problem to what a reader made of it.
func causeOf(err error) error {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return err
}

// good yields the items of a body. An invalid row ends it, or is counted.
func good(r *source.Reader, how draft.HowToAppend, at *places, bad *int64) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for it, err := range r.Items() {
			it.ID, it.Data = how.ID(it.ID), how.Columns.Rename(it.Data)
			if err == nil && how.Check != nil {
				err = how.Check(fmt.Sprintf("line %d", it.Line), it.ID, it.Data)
			}
			var row *source.RowError
			var field *weir.FieldError
			if err != nil && how.Record && (errors.As(err, &row) || errors.As(err, &field)) {
				*bad++
				continue
			}
			if err != nil {
				yield(weir.RawItem{}, causeOf(err))
				return
			}
			at.add(it.Line)
			if !yield(weir.RawItem{ID: it.ID, Value: it.Data}, nil) {
				return
			}
		}
	}
}
