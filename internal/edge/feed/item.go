package feed

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/edge/source"
)

// item returns the item of a JSON document; member names its id. The document is passed on byte
// for byte.
func item(doc []byte, member string) (weir.RawItem, *PermanentError) {
	id, bad := source.ItemID(doc, member)
	return weir.RawItem{ID: id, Value: doc}, rowError(bad)
}

// itemOf returns the item of an id and a JSON document; name is the name of the id.
func itemOf(id string, doc []byte, name string) (weir.RawItem, *PermanentError) {
	bad := source.CheckID(id, name)
	if bad == nil {
		bad = source.CheckDocument(doc)
	}
	return weir.RawItem{ID: id, Value: doc}, rowError(bad)
}

// rowError returns the error of one item; nil: none.
func rowError(bad *source.RowError) *PermanentError {
	if bad == nil {
		return nil
	}
	e := &PermanentError{Code: bad.Code, Problem: bad.Problem, Fix: bad.Fix}
	if bad.Value != "" {
		e.Problem += ": " + excerpt([]byte(bad.Value))
	}
	if e.Code == source.CodeBadLine {
		e.Code = CodeBadItem
	}
	return e
}

// excerpt returns the beginning of foreign text, without control characters.
func excerpt(b []byte) string { return execute.Excerpt(b, 120) }
