//go:build unix

package serverkill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weirhq/weir/api"
)

// judge compares what clients, downstream and receiver remember with what the server says.
func (w *world) judge(ctx context.Context, told []*story) error {
	var bad []error
	w.down.mu.Lock()
	for _, wrong := range w.down.wrong {
		bad = append(bad, errors.New(wrong))
	}
	w.down.mu.Unlock()
	for _, s := range told {
		if err := w.judgeOne(ctx, s); err != nil {
			bad = append(bad, fmt.Errorf("story %d, %s, %s%s: %w", s.no, s.kind, s.bulk, s.schedule, err))
		}
	}
	return errors.Join(append(bad, w.judgeAll(ctx, told))...)
}

// judgeAll looks for work that no client requested.
func (w *world) judgeAll(ctx context.Context, told []*story) error {
	known, made := map[string]bool{}, map[string]int{}
	for _, s := range told {
		known[s.bulk] = true
	}
	for cursor, more := "", true; more; {
		var page api.Page[api.BulkAction]
		if err := w.get(ctx, bulkPath+"?limit=100&cursor="+cursor, &page); err != nil {
			return err
		}
		for _, b := range page.Data {
			if made[b.ID]++; made[b.ID] > 1 || !known[b.ID] {
				return fmt.Errorf("%s (%s, schedule %s) is listed %d times, and known: %v", b.ID, b.Name, b.Schedule, made[b.ID], known[b.ID])
			}
		}
		cursor, more = page.NextCursor, page.HasMore
	}
	if len(made) != len(told) {
		return fmt.Errorf("%d bulk actions are listed, want %d", len(made), len(told))
	}
	return nil
}

func (w *world) judgeOne(ctx context.Context, s *story) error {
	if s.schedule != "" {
		if err := w.madeBy(ctx, s); err != nil {
			return err
		}
	}
	var b api.BulkAction
	if s.draft {
		if err := w.get(ctx, bulkPath+"/"+s.bulk, &b); err != nil {
			return err
		}
		if b.State != api.Draft || b.Counts.Total != int64(len(s.items)) {
			return fmt.Errorf("it is %s with %d items, want a draft with %d", b.State, b.Counts.Total, len(s.items))
		}
		return nil
	}
	var err error
	if !until(ctx, func() bool {
		err = w.get(ctx, bulkPath+"/"+s.bulk, &b)
		return err != nil || b.State.Final()
	}) || err != nil {
		return fmt.Errorf("it does not end: %s (%s), counts %+v: %w", b.State, b.Reason, b.Counts, err)
	}
	if err := w.judgeCounts(s, &b); err != nil {
		return err
	}
	if err := w.judgeItems(ctx, s, &b); err != nil {
		return err
	}
	return w.judgeTold(ctx, s, &b)
}

// madeBy finds the bulk action that a schedule has made: one.
func (w *world) madeBy(ctx context.Context, s *story) (err error) {
	var sch api.Schedule
	if !until(ctx, func() bool {
		err = w.get(ctx, "/v1/schedules/"+s.schedule, &sch)
		return err != nil || len(sch.History) > 0 && sch.History[0].Result != "retrying"
	}) || err != nil {
		return fmt.Errorf("the schedule has not fired: %+v: %w", sch.History, err)
	}
	if len(sch.History) != 1 || sch.History[0].Result != "fired" {
		return fmt.Errorf("the schedule did %+v, want one fire", sch.History)
	}
	s.bulk = sch.History[0].BulkAction
	return nil
}

// judgeCounts compares the numbers of one that has ended: every item has, too, and
// an end that was told before is the one that is there.
func (w *world) judgeCounts(s *story, b *api.BulkAction) error {
	if e := s.ended; e != nil && (e.State != b.State || e.Counts != b.Counts || !e.FinishedAt.Equal(b.FinishedAt)) {
		return fmt.Errorf("it was told to be %s for good since %v with %+v, and is %s since %v with %+v", e.State, e.FinishedAt, e.Counts, b.State, b.FinishedAt, b.Counts)
	}
	want := api.Counts{Total: int64(len(s.items))}
	for _, id := range s.items {
		if fateOf(id) == closed {
			want.Failed++
		} else {
			want.Done++
		}
	}
	if s.cancelled && b.State == api.Cancelled {
		// Of what was on its way all may have ended, and at least one item was not: else it would have completed.
		if c := b.Counts; c.Total != want.Total || c.Done+c.Failed+c.Cancelled != c.Total || c.Cancelled == 0 || c.Done > want.Done || c.Failed > want.Failed {
			return fmt.Errorf("cancelled, it has %+v of %+v", c, want)
		}
		return nil
	}
	if b.State != api.Completed || b.Counts != want {
		return fmt.Errorf("it is %s (%s) with %+v, want completed with %+v", b.State, b.Reason, b.Counts, want)
	}
	return nil
}

// judgeItems goes through the report: every item is in it once, and what it says of the item is what the downstream did.
func (w *world) judgeItems(ctx context.Context, s *story, b *api.BulkAction) error {
	r, err := w.ask(ctx, request{method: "GET", path: bulkPath + "/" + s.bulk + "/results?state=all&format=ndjson"})
	if err != nil || r.status != 200 {
		return fmt.Errorf("report: status %d: %s %w", r.status, r.body, err)
	}
	left := make(map[string]bool, len(s.items))
	for _, id := range s.items {
		left[id] = true
	}
	for lines := bufio.NewScanner(bytes.NewReader(r.body)); lines.Scan(); {
		var it api.ItemResult
		if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
			return fmt.Errorf("report: %w: %s", err, lines.Bytes())
		}
		if !left[it.ID] {
			return fmt.Errorf("report: %s is there twice, or was never submitted", it.ID)
		}
		delete(left, it.ID)
		if err := agree(it, w.down.of(s.bulk, it.ID), b.State); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("report: %d items are missing", len(left))
	}
	return nil
}

// agree compares the report of an item with what was done to it.
func agree(it api.ItemResult, did treated, end api.State) error {
	ok := false
	switch it.State {
	case "done":
		ok = did.award != "" && did.message != "" && fateOf(it.ID) != closed
	case "failed":
		ok = did.award != "" && did.message == "" && fateOf(it.ID) == closed
	case "cancelled":
		ok = end == api.Cancelled
	}
	if !ok {
		return fmt.Errorf("%s is reported as %s (%s %s), and the downstream has %+v", it.ID, it.State, it.Code, it.Reason, did)
	}
	return nil
}

// judgeTold looks at the callbacks: one event, the same bytes each time, taken by each endpoint.
func (w *world) judgeTold(ctx context.Context, s *story, b *api.BulkAction) error {
	var all []telling
	taken := func() bool {
		took := map[string]bool{}
		all = w.ears.of(s.bulk)
		for _, t := range all {
			took[t.who] = took[t.who] || t.took
		}
		return took["callback"] && (took["hook"] || !w.hooked)
	}
	if !until(ctx, taken) {
		return fmt.Errorf("not every receiver was told of its end: %+v", all)
	}
	want := "bulk_action." + string(b.State)
	for _, t := range all {
		if t.id != all[0].id || t.body != all[0].body || t.kind != want || t.id == "" {
			return fmt.Errorf("told of %s and %s, want one event %s:\n%s\n%s", t.kind, all[0].kind, want, t.body, all[0].body)
		}
	}
	if !strings.Contains(all[0].body, `"state":"`+string(b.State)+`"`) {
		return fmt.Errorf("told another end than %s: %s", b.State, all[0].body)
	}
	return nil
}
