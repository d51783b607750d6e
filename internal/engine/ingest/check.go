package ingest

import (
	"iter"

	"github.com/weirhq/weir"
)

// CheckItems says what is wrong with items that are all at hand, as a submit would, and writes nothing.
func CheckItems(rule weir.DuplicateRule, items iter.Seq2[weir.RawItem, error]) error {
	first, no := map[string]int64{}, int64(0)
	for it, err := range items {
		if err == nil {
			err = checkItem(no, it.ID, it.Value)
		}
		if err == nil {
			err = checkJSON(no, []byte(it.ID), it.Value)
		}
		if err != nil {
			return err
		}
		no++
		if rule != weir.RefuseDuplicates {
			continue
		}
		if before := first[it.ID]; before > 0 {
			return &weir.DuplicateError{ID: it.ID, Item: no, First: before}
		}
		first[it.ID] = no
	}
	return nil
}

// NoIterator returns the error that refuses items that are nil, which no range statement takes.
func NoIterator() error {
	return &weir.FieldError{Code: "missing_field", Field: "items", Problem: "is nil",
		Fix: "pass an iterator, as engine.Items makes one of a slice"}
}
