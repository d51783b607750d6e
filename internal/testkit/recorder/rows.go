package recorder

// row checks one item of the report against what the log has of it.
func (j *judge) row(r *Row) {
	ended, ours := j.items[r.ID]
	switch {
	case !ours:
		j.fault("row %q was never submitted", r.ID)
		return
	case ended:
		j.fault("item %s is in the report twice", r.ID)
		return
	}
	j.items[r.ID] = true
	if r.State == Done {
		j.stats.Done++
		j.doneRow(r)
		return
	}
	j.stats.Failed++
	j.failedRow(r)
}

func (j *judge) doneRow(r *Row) {
	for _, step := range j.run.Steps {
		if h := j.at[place{step, r.ID}]; h == nil || !h.done || h.failed {
			j.fault("item %s is reported done and has no success at %s", r.ID, step)
		}
	}
	if want := Output(j.run.Seed, j.run.Steps[len(j.run.Steps)-1], r.ID); r.Receipt != want {
		j.fault("item %s is reported with receipt %q, it was given %q", r.ID, r.Receipt, want)
	}
}

func (j *judge) failedRow(r *Row) {
	for _, step := range j.run.Steps {
		h := j.at[place{step, r.ID}]
		if h == nil {
			j.fault("item %s is reported failed at %s and was never called at %s", r.ID, r.Step, step)
			return
		}
		if step == r.Step {
			j.failure(r, h)
			return
		}
		if !h.done {
			j.fault("item %s is reported failed at %s and had no success at %s", r.ID, r.Step, step)
		}
	}
	j.fault("item %s is reported failed at %q, which is not a step", r.ID, r.Step)
}

// failure checks a failed item's last word: a failure, or a retry when it was the last attempt.
func (j *judge) failure(r *Row, h *history) {
	switch {
	case h.done:
		j.fault("item %s is reported failed at %s, where it succeeded", r.ID, r.Step)
	case h.code != r.Code || h.message != r.Message:
		j.fault("item %s is reported failed with %s %q, it was given %s %q", r.ID, r.Code, r.Message, h.code, h.message)
	case !h.failed && (h.answered < j.run.MaxAttempts || r.Attempts != j.run.MaxAttempts):
		j.fault("item %s gave up after %d attempts by the report and %d calls; it had %d", r.ID, r.Attempts, h.answered,
			j.run.MaxAttempts)
	case r.Attempts < 1 || r.Attempts > h.answered:
		j.fault("item %s is reported with %d attempts, there were %d calls", r.ID, r.Attempts, h.answered)
	}
}

// summary checks the counts of report.json.
func (j *judge) summary(s *Summary) {
	j.equal("total", s.Counts.Total, len(j.items))
	j.equal("done", s.Counts.Done, j.stats.Done)
	j.equal("failed", s.Counts.Failed, j.stats.Failed)
	j.equal("items that have not ended", s.Counts.Cancelled+s.Counts.Ready+s.Counts.Waiting+s.Counts.InFlight, 0)
	if s.ID != j.run.Bulk || s.State != "completed" {
		j.fault("report.json is of %s in state %s, want %s completed", s.ID, s.State, j.run.Bulk)
	}
	done, failed, answered, errorsAt := j.count()
	if len(s.Steps) != len(j.run.Steps) {
		j.fault("report.json has %d steps, want %d", len(s.Steps), len(j.run.Steps))
		return
	}
	for i, name := range j.run.Steps {
		j.equal("done at "+name, s.Steps[i].Done, done[name])
		j.equal("failed at "+name, s.Steps[i].Failed, failed[name])
		if a := s.Steps[i].Attempts; a > answered[name] || a < answered[name]-j.run.Deaths*j.run.AtRisk {
			j.fault("report.json: %d attempts at %s, the log has %d calls", a, name, answered[name])
		}
	}
	grouped := map[[2]string]int{}
	for _, g := range s.Errors {
		grouped[[2]string{g.Step, g.Code}] += g.Count
	}
	for at, n := range errorsAt {
		j.equal("errors "+at[1]+" at "+at[0], grouped[at], n)
	}
	j.equal("kinds of error", len(grouped), len(errorsAt))
	for _, f := range s.Files {
		j.equal("rows of "+f.Name, f.Rows, map[string]int{"done.csv": j.stats.Done, "failed.csv": j.stats.Failed}[f.Name])
	}
}

// count sums up the log by step. An item that never got through or failed has given up.
func (j *judge) count() (done, failed, answered map[string]int, errorsAt map[[2]string]int) {
	done, failed, answered, errorsAt = map[string]int{}, map[string]int{}, map[string]int{}, map[[2]string]int{}
	for p, h := range j.at {
		answered[p.step] += h.answered
		if h.done {
			done[p.step]++
			continue
		}
		failed[p.step]++
		errorsAt[[2]string{p.step, h.code}]++
	}
	return done, failed, answered, errorsAt
}

func (j *judge) equal(what string, got, want int) {
	if got != want {
		j.fault("report.json: %s is %d, by the log and the rows it is %d", what, got, want)
	}
}
