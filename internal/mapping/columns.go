package mapping

import "github.com/weirhq/weir"

// ColumnMap makes items of the rows of an import.
type ColumnMap struct{ p *Program }

// CompileColumns makes a map of an expression for each member of the items. They
// speak of row, whose members are the columns; nil columns: they are not known yet.
// The error is a *weir.InputError that lists everything that is wrong.
func CompileColumns(field string, members map[string]string, columns []string) (*ColumnMap, error) {
	var errs weir.InputError
	p := &Program{root: nameRow, members: rowScope(columns).mapping(&errs, field, members)}
	if err := errs.OrNil(); err != nil {
		return nil, err
	}
	p.sum()
	return &ColumnMap{p}, nil
}

// Map is the document of the item that a row becomes. row is a JSON object of its
// columns. The error is a *weir.FieldError about this row.
func (c *ColumnMap) Map(row []byte) ([]byte, error) {
	return c.p.object(Item{Data: row}, nil)
}
