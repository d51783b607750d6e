package mapping

// Row is an item of a report, as filters see it.
type Row struct {
	ID       string
	State    string
	Step     string
	Code     string
	Message  string
	Attempts int
	Item     []byte // its document
	Output   []byte // its last step's answer, empty if none
}

// Filter is a condition on the items of a report.
type Filter struct{ e *expression }

// CompileFilter compiles a filter, as in code == "timeout" && attempts > 2. The error is a
// *weir.FieldError of the given field with the position in the text.
func CompileFilter(field, text string) (*Filter, error) {
	e, err := filterScope().compile(field, text, true)
	if err != nil {
		return nil, err
	}
	return &Filter{e}, nil
}

// NeedsItem reports whether the filter reads the documents of items.
func (f *Filter) NeedsItem() bool { return f.e.uses.whole || len(f.e.uses.members) > 0 }

// NeedsOutput reports whether the filter reads outputs.
func (f *Filter) NeedsOutput() bool { return f.e.uses.output }

// Match reports whether an item matches. The error is a *weir.FieldError about this item.
func (f *Filter) Match(r Row) (bool, error) {
	env := map[string]any{
		nameRun: &run{left: Budget}, nameID: r.ID, "state": r.State, "step": r.Step,
		"code": r.Code, "message": r.Message, "attempts": r.Attempts,
	}
	var err error
	if f.NeedsItem() {
		env[nameItem], err = value(r.Item)
	}
	if err == nil && f.NeedsOutput() {
		env["output"], err = value(r.Output)
	}
	if err != nil {
		return false, f.e.failed(errNotJSON)
	}
	v, err := f.e.eval(env)
	if err != nil {
		return false, err
	}
	return v.(bool), nil // the machine has checked
}
