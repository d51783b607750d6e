package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// trialItem is an item in a trial.
type trialItem struct {
	weir.RawItem
	outputs map[string][]byte // by step
}

// trialLook bounds how many items a trial searches for those requested by id.
const trialLook = 10_000

// TrialBulk sends a few items of a bulk action through its steps, one call per step, before it
// starts.
func (s *Service) TrialBulk(ctx context.Context, id string, want api.Trial) (api.TrialResult, error) {
	most := want.First
	if len(want.Items) > 0 {
		most = trialLook
	} else if most == 0 {
		most = 1
	}
	steps, params, items, end, err := s.peek(ctx, id, most)
	if err != nil {
		return api.TrialResult{}, err
	}
	defer end()
	if names := stepIDs(steps); want.Step != "" && !slices.Contains(names, want.Step) {
		return api.TrialResult{}, noSuchStep(names)
	}
	var chosen []trialItem
	for it, err := range items {
		if err != nil {
			return api.TrialResult{}, err
		}
		if len(want.Items) == 0 || slices.Contains(want.Items, it.ID) {
			copied := weir.RawItem{ID: it.ID, Value: slices.Clone(it.Value)}
			chosen = append(chosen, trialItem{copied, map[string][]byte{}})
		}
		if len(chosen) == max(len(want.Items), want.First, 1) {
			break
		}
	}
	if len(chosen) == 0 {
		return api.TrialResult{}, &weir.FieldError{Code: "no_items", Field: "items", Problem: fmt.Sprintf("none of these items is among the first %d", trialLook), Fix: "choose others, or leave it out for the first one"}
	}
	return s.tryChain(ctx, steps, params, chosen, want)
}

func stepIDs(steps []api.Step) (names []string) {
	for _, st := range steps {
		names = append(names, stepID(st))
	}
	return names
}

// noSuchStep returns the refusal of an unknown step.
func noSuchStep(names []string) error {
	return &weir.FieldError{Code: "unknown_step", Field: "step", Problem: "is not a known step", Fix: fmt.Sprintf("the steps are %q", names)}
}

func (s *Service) tryChain(ctx context.Context, steps []api.Step, params []byte, items []trialItem, want api.Trial) (out api.TrialResult, err error) {
	c := &course{params: params}
	out.Steps = []api.TrialStep{}
	for i, st := range steps {
		ps := &planStep{ID: stepID(st), Action: st.Action, Input: st.Input, When: st.When, Otherwise: st.Otherwise}
		if _, err := s.step(ps, fmt.Sprintf("steps[%d]", i), c); err != nil {
			return out, err
		}
		if want.Step != "" && want.Step != ps.ID {
			continue
		}
		res, left, err := s.tryStep(ctx, c, i, items, want.DryRun == nil || *want.DryRun)
		if err != nil {
			return out, err
		}
		out.Steps = append(out.Steps, res)
		if items = left; len(items) == 0 {
			break
		}
	}
	return out, nil
}

// tryStep calls one step with the items for which its condition is true, and returns those that
// continue.
func (s *Service) tryStep(ctx context.Context, c *course, no int, items []trialItem, dryRun bool) (res api.TrialStep, left []trialItem, err error) {
	var sent []trialItem
	var tasks []weir.TaskItem
	var ended []api.ItemResult
	for i, it := range items {
		in := mapping.Item{ID: it.ID, Data: it.Value, Outputs: func(step string) []byte { return it.outputs[step] }}
		data, outcome := input(c.steps[no], c.progs[no], c.about(no, in))
		switch outcome.Kind {
		case weir.NoOutcome:
			sent, tasks = append(sent, it), append(tasks, weir.TaskItem{No: int64(i), ID: it.ID, Data: data})
		case weir.Done:
			left = append(left, it) // skipped
		default:
			ended = append(ended, api.ItemResult{ID: it.ID, Step: c.names[no], State: "cancelled", Reason: outcome.Code, Message: outcome.Message})
		}
	}
	res = api.TrialStep{Step: c.names[no], Action: c.steps[no].Action, Items: []api.ItemResult{}}
	if len(tasks) > 0 {
		if res, err = s.Trial(ctx, c.names[no], c.steps[no].Action, tasks, dryRun); err != nil {
			return res, nil, err
		}
	}
	for i := range res.Items {
		if res.Items[i].State == "done" {
			sent[i].outputs[c.names[no]] = res.Items[i].Output
			left = append(left, sent[i])
		}
	}
	res.Items = append(res.Items, ended...)
	return res, left, nil
}
