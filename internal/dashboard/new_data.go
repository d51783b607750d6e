package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// dataPage is step 2: where the items come from.
type dataPage struct {
	*wizard
	Connections []api.Connection
	Source      sourceForm
	// Now says what data the draft has.
	Now string
	// Tested is what a source begins with.
	Tested *api.Preview
}

func (d *Dashboard) newData(ctx context.Context, v *visit) (content, error) {
	w, err := v.openChecked(ctx, 1)
	if err != nil {
		return content{}, err
	}
	p := &dataPage{wizard: w, Source: sourceOf(w.Draft.Source)}
	if err := p.fill(ctx, v); err != nil {
		return content{}, err
	}
	c := p.content(1, p)
	c.Weir = []string{"weir submit FILE --id COLUMN"}
	return c, nil
}

// fill reads what the page shows besides the draft.
func (p *dataPage) fill(ctx context.Context, v *visit) (err error) {
	if p.Connections, err = collect(v.api.Connections().List(ctx), 200); err != nil && refusal(err) == nil {
		return err
	}
	p.Now = dataName(p.wizard)
	if at := sourceField(p.goneAt); at != "" && p.Faults[at] == "" && p.Draft.Source.Upload == "" {
		p.Faults[at] = p.DataGone
	}
	if src := p.Draft.Source; src != nil && src.Upload == "" && p.DataGone == "" {
		tested, err := v.api.Preview(ctx, p.ID, 5)
		if err != nil && refusal(err) == nil {
			return err
		}
		p.Tested = &tested
	}
	return nil
}

// dataName says what data a draft has.
func dataName(w *wizard) string {
	if src := w.Draft.Source; src != nil && src.Upload != "" && w.Check != nil {
		name := w.Check.Name
		if n := len(src.Added); n > 0 {
			name += " and " + format.Plural(int64(n), "added file", "added files")
		}
		return name + ", " + format.Bytes(w.Check.Bytes)
	}
	return sourceName(w.Draft.Source)
}

// sourceName says where items come from, empty for nil.
func sourceName(src *api.Source) string {
	switch {
	case src == nil:
		return ""
	case src.Upload != "":
		return "An uploaded file"
	case src.Postgres != nil:
		return "A query of " + src.Postgres.Connection
	case src.Object != nil:
		return src.Object.Bucket + "/" + src.Object.Key
	case src.Kafka != nil:
		return "The topic " + src.Kafka.Topic
	case src.Segment != nil:
		return "The segment " + src.Segment.URL
	}
	return "A source"
}

// upload registers what takes a form with a file of any size: it is read as it comes.
func (d *Dashboard) upload(path string, act func(context.Context, *visit, *multipart.Reader) (done, error)) {
	d.mux.HandleFunc("POST "+Root+path, func(w http.ResponseWriter, r *http.Request) {
		v, err := d.visit(r)
		var did done
		if err == nil && d.opts.ReadOnly {
			err = errReadOnly
		}
		if err == nil {
			var parts *multipart.Reader
			if parts, err = r.MultipartReader(); err == nil {
				did, err = act(r.Context(), v, parts)
			} else {
				err = &pageAgain{"error", content{Title: "Not done", Page: problem{Text: "The form was not sent as a file", Did: "Nothing was changed."}}}
			}
		}
		if err != nil {
			d.fail(w, v, err)
			return
		}
		d.follow(w, v, did)
	})
}

// takeData takes a file or pasted rows as the data of a draft. The file is passed on as it comes, and not held.
func (d *Dashboard) takeData(ctx context.Context, v *visit, parts *multipart.Reader) (done, error) {
	w, err := v.open(ctx)
	if err != nil {
		return done{}, err
	}
	id, err := v.sendFile(ctx, parts)
	if err == nil {
		var did done
		if did, err = v.takeUpload(ctx, w, id); err == nil {
			return did, nil
		}
	}
	field := "file"
	var bad *dataError
	if errors.As(err, &bad) {
		field = bad.field
		w.Faults[field] = bad.text
	} else if err := w.refuse(err, func(string) string { return field }); err != nil {
		return done{}, err
	}
	if err := v.check(ctx, w, 1); err != nil {
		return done{}, err
	}
	p := &dataPage{wizard: w, Source: sourceOf(w.Draft.Source)}
	if err := p.fill(ctx, v); err != nil {
		return done{}, err
	}
	return done{}, &pageAgain{"new-data", p.content(1, p)}
}

// dataError says what is wrong with a field of step 2.
type dataError struct{ field, text string }

// Error implements error.
func (e *dataError) Error() string { return e.text }

// sendFile uploads the file or the pasted rows of a form, and returns the upload.
func (v *visit) sendFile(ctx context.Context, parts *multipart.Reader) (id string, err error) {
	kind := ""
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return "", &dataError{"file", "Choose a file."}
		}
		if err != nil {
			return "", &dataError{"file", "The file did not arrive completely. Send it again."}
		}
		switch part.FormName() {
		case "kind":
			raw, _ := io.ReadAll(io.LimitReader(part, 16)) // what is missing shows below
			kind = string(raw)
		case "file":
			if part.FileName() == "" {
				return "", &dataError{"file", "Choose a file."}
			}
			from := &arriving{Reader: part}
			id, _, err := v.api.UploadStream(ctx, path.Base(strings.ReplaceAll(part.FileName(), `\`, "/")), from)
			return id, from.or(err, "file")
		case "rows":
			from := &arriving{Reader: part}
			id, err := v.sendRows(ctx, kind, from)
			return id, from.or(err, "rows")
		}
	}
}

// arriving is a part of a form that is read while it arrives.
type arriving struct {
	io.Reader
	cut error
}

// Read implements [io.Reader].
func (a *arriving) Read(p []byte) (n int, err error) {
	if n, err = a.Reader.Read(p); err != nil && !errors.Is(err, io.EOF) {
		a.cut = err
	}
	return n, err
}

// or returns an error about a field if the part has not arrived completely, else err.
func (a *arriving) or(err error, field string) error {
	if a.cut != nil {
		return &dataError{field, "The data did not arrive completely. Send it again."}
	}
	return err
}

// sendRows uploads rows that were pasted.
func (v *visit) sendRows(ctx context.Context, kind string, rows io.Reader) (id string, err error) {
	r := bufio.NewReaderSize(rows, 64<<10)
	head, _ := r.Peek(4096)
	text := strings.TrimSpace(string(head))
	if text == "" {
		return "", &dataError{"rows", "Paste at least one row."}
	}
	name := map[string]string{"csv": "pasted.csv", "json": "pasted.ndjson", "ids": "pasted-ids.ndjson"}[kind]
	line, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.HasPrefix(text, "["):
		name = "pasted.json"
	case name != "":
	case strings.HasPrefix(text, "{"):
		name = "pasted.ndjson"
	case strings.ContainsAny(line, ",;\t|"):
		name = "pasted.csv"
	default:
		name = "pasted-ids.ndjson"
	}
	if name != "pasted-ids.ndjson" {
		id, _, err = v.api.UploadStream(ctx, name, r)
		return id, err
	}
	from, to := io.Pipe()
	defer from.Close()
	go func() { _ = to.CloseWithError(writeIDs(to, r)) }() // the reader gets the error
	id, _, err = v.api.UploadStream(ctx, name, from)
	return id, err
}

// writeIDs writes ids, one a line, as items.
func writeIDs(w io.Writer, ids io.Reader) error {
	lines := bufio.NewScanner(ids)
	lines.Buffer(nil, 1<<20)
	enc := json.NewEncoder(w)
	for lines.Scan() {
		id := strings.TrimSpace(lines.Text())
		if id == "" {
			continue
		}
		if err := enc.Encode(map[string]string{"id": id}); err != nil {
			return err
		}
	}
	return lines.Err()
}
