package local

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// BindReport adds the flags that say where results go.
func (r *Results) BindReport(fs *pflag.FlagSet) {
	fs.StringVar(&r.Report, "report", "", "`DIR` for the report; an existing report is replaced")
	fs.Var(&r.Format, "report-format", "csv or ndjson (default csv)")
	fs.StringVar(&r.SummaryJSON, "summary-json", "", "`FILE` for the summary alone; - is stdout")
}

// Over puts the places that flags name over those of an earlier command.
func (r *Results) Over(before Results) Results {
	return Results{cmp.Or(r.Report, before.Report), cmp.Or(r.Format, before.Format), cmp.Or(r.SummaryJSON, before.SummaryJSON)}
}

// CheckPlaces finds out before the work whether its results can be written.
func (r *Results) CheckPlaces(env *command.Env, input string) error {
	if r.Report != "" {
		if report.Replaces(env.Path(r.Report), env.Path(input)) {
			return command.BadUsage("choose another folder with --report", "--report: the report would replace the input %s", input)
		}
		if err := command.Probe(env.Path(r.Report)); err != nil {
			return command.BadUsage("choose another folder with --report", "--report: %v", err)
		}
	}
	if r.SummaryJSON != "" && r.SummaryJSON != "-" {
		if err := command.Probe(filepath.Dir(env.Path(r.SummaryJSON))); err != nil {
			return command.BadUsage("choose another file with --summary-json", "--summary-json: %v", err)
		}
	}
	return nil
}

// Results says where the results of a run are written.
type Results struct {
	Report      string              `json:"report,omitempty"` // folder
	Format      config.ReportFormat `json:"report_format,omitempty"`
	SummaryJSON string              `json:"summary_json,omitempty"`
}
