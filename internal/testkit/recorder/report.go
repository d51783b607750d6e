package recorder

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Row is an item as a report has it.
type Row struct {
	ID       string
	State    string // [Done] or [Failed]: the file that it stands in
	Step     string // failed: where
	Code     string
	Message  string
	Attempts int
	Receipt  string // done: what the last step answered
}

// Summary is the part of report.json that is checked.
type Summary struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Counts struct {
		Total     int `json:"total"`
		Done      int `json:"done"`
		Failed    int `json:"failed"`
		Cancelled int `json:"cancelled"`
		Ready     int `json:"ready"`
		Waiting   int `json:"waiting"`
		InFlight  int `json:"in_flight"`
	} `json:"counts"`
	Steps []struct {
		Name     string `json:"name"`
		Done     int    `json:"done"`
		Failed   int    `json:"failed"`
		Attempts int    `json:"attempts"`
	} `json:"steps"`
	Errors []struct {
		Step  string `json:"step"`
		Code  string `json:"code"`
		Count int    `json:"count"`
	} `json:"error_groups"`
	Files []struct {
		Name string `json:"name"`
		Rows int    `json:"rows"`
	} `json:"files"`
}

// Report is a folder with report.json, done.csv and failed.csv, read as any program would.
type Report struct {
	Summary Summary
	Rows    []Row
}

// ReadReport reads a folder.
func ReadReport(dir string) (*Report, error) {
	r := &Report{}
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &r.Summary); err != nil {
		return nil, fmt.Errorf("report.json: %w", err)
	}
	for _, state := range []string{Done, Failed} {
		if err := r.readFile(dir, state); err != nil {
			return nil, fmt.Errorf("%s.csv: %w", state, err)
		}
	}
	return r, nil
}

func (r *Report) readFile(dir, state string) error {
	f, err := os.Open(filepath.Join(dir, state+".csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a file without rows is not written
	}
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, cells := range rows[1:] {
		row, err := rowOf(state, rows[0], cells)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	}
	return nil
}

func rowOf(state string, head, cells []string) (row Row, err error) {
	row.State = state
	for i, name := range head {
		switch name {
		case "id":
			row.ID = cells[i]
		case "step":
			row.Step = cells[i]
		case "code":
			row.Code = cells[i]
		case "message":
			row.Message = cells[i]
		case "output.receipt":
			row.Receipt = cells[i]
		case "attempts":
			if row.Attempts, err = strconv.Atoi(cells[i]); err != nil {
				return row, fmt.Errorf("attempts of %s: %w", row.ID, err)
			}
		}
	}
	return row, nil
}
