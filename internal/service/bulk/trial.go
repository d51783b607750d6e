package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/stored"
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
func (s *Bulks) TrialBulk(ctx context.Context, id string, want api.Trial) (api.TrialResult, error) {
	most := want.First
	if len(want.Items) > 0 {
		most = trialLook
	} else if most == 0 {
		most = 1
	}
	p, err := s.peek(ctx, id, most)
	if err != nil {
		return api.TrialResult{}, err
	}
	defer p.end()
	if names := stored.Names(p.steps); want.Step != "" && !slices.Contains(names, want.Step) {
		return api.TrialResult{}, NoSuchStep(names)
	}
	var chosen []trialItem
	for it, err := range p.items {
		if bad := (*refusedError)(nil); errors.As(err, &bad) {
			continue // it will not be an item
		}
		if err != nil {
			return api.TrialResult{}, draft.Unread(p.source, err)
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
		return api.TrialResult{}, &weir.FieldError{Code: "no_items", Field: "items",
			Problem: fmt.Sprintf("none of these items is among the first %d", trialLook),
			Fix:     "choose others, or leave it out for the first one"}
	}
	return s.tryChain(ctx, p.steps, p.params, chosen, want)
}

// NoSuchStep returns the refusal of an unknown step.
func NoSuchStep(names []string) error {
	return &weir.FieldError{Code: "unknown_step", Field: "step", Problem: "is not a known step",
		Fix: fmt.Sprintf("the steps are %q", names)}
}

func (s *Bulks) tryChain(ctx context.Context, steps []stored.Step, params []byte, items []trialItem,
	want api.Trial) (out api.TrialResult, err error) {
	c, err := s.chains.Open(steps, params)
	if err != nil {
		return out, err
	}
	out.Steps = []api.TrialStep{}
	for i, st := range steps {
		if want.Step != "" && want.Step != st.Name() {
			continue
		}
		res, left, err := s.tryStep(ctx, c, &st, i, items, want.DryRun == nil || *want.DryRun)
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
func (s *Bulks) tryStep(ctx context.Context, c *chain.Course, st *stored.Step, no int, items []trialItem,
	dryRun bool) (res api.TrialStep, left []trialItem, err error) {
	var sent []trialItem
	var tasks []weir.TaskItem
	var ended []api.ItemResult
	for i, it := range items {
		in := mapping.Item{ID: it.ID, Data: it.Value, Outputs: func(step string) []byte { return it.outputs[step] }}
		data, outcome := c.Input(no, in)
		switch outcome.Kind {
		case weir.OutcomeNone:
			sent, tasks = append(sent, it), append(tasks, weir.TaskItem{No: int64(i), ID: it.ID, Data: data})
		case weir.OutcomeDone:
			left = append(left, it) // skipped
		default:
			ended = append(ended, api.ItemResult{ID: it.ID, Step: st.Name(), State: "cancelled", Reason: outcome.Code,
				Message: outcome.Message})
		}
	}
	res = api.TrialStep{Step: st.Name(), Action: st.Action, Items: []api.ItemResult{}}
	if len(tasks) > 0 {
		if res, err = s.actions.Trial(ctx, st.Name(), st.Action, tasks, dryRun); err != nil {
			return res, nil, err
		}
	}
	for i := range res.Items {
		if res.Items[i].State == "done" {
			sent[i].outputs[st.Name()] = res.Items[i].Output
			left = append(left, sent[i])
		}
	}
	res.Items = append(res.Items, ended...)
	return res, left, nil
}
