package stored

import "github.com/weirhq/weir/api"

// Of returns a request as it is stored.
func Of(n *api.NewBulkAction) Spec {
	return Spec{
		Name: n.Name, Tenant: n.Tenant, Template: n.Template, Steps: StepsOf(n.Steps), Params: n.Params, ItemID: n.ItemID, Columns: n.Columns,
		Items:  ItemsOf(n.Items),
		Source: SourceOf(n.Source), Duplicates: n.Duplicates, FoldIDs: n.FoldIDs, OnBadLine: n.OnBadLine, AllowEmpty: n.AllowEmpty,
		Start: n.Start, Rules: rulesOf(&n.Rules),
		StartAt: n.StartAt, Zone: n.Zone, Callback: (*Callback)(n.Callback), Labels: n.Labels, KeepFor: Duration(n.KeepFor),
	}
}

// API returns the request as the API shows it, without the secret of its callback.
func (s *Spec) API() api.NewBulkAction {
	return api.NewBulkAction{
		Name: s.Name, Tenant: s.Tenant, Template: s.Template, Steps: APISteps(s.Steps), Params: s.Params, ItemID: s.ItemID, Columns: s.Columns,
		Items:  apiItems(s.Items),
		Source: s.Source.API(), Duplicates: s.Duplicates, FoldIDs: s.FoldIDs, OnBadLine: s.OnBadLine, AllowEmpty: s.AllowEmpty, Start: s.Start,
		Rules:   s.Rules.API(),
		StartAt: s.StartAt, Zone: s.Zone, Callback: s.Callback.API(), Labels: s.Labels, KeepFor: api.Duration(s.KeepFor),
	}
}

func rulesOf(r *api.Rules) Rules {
	out := Rules{
		Tier: r.Tier, Priority: r.Priority, Concurrency: r.Concurrency, Rates: each(r.Rates, func(r api.Rate) Rate { return Rate(r) }),
		StopOn: (*StopOn)(r.StopOn), Deadline: r.Deadline,
	}
	if c := r.Canary; c != nil {
		out.Canary = &Canary{Percent: c.Percent, Items: c.Items, Approve: c.Approve, SuccessRate: c.SuccessRate, P95: Duration(c.P95)}
	}
	return out
}

// API returns the rules as the API shows them.
func (r *Rules) API() api.Rules {
	return api.Rules{
		Tier: r.Tier, Priority: r.Priority, Concurrency: r.Concurrency,
		Rates:  each(r.Rates, func(r Rate) api.Rate { return api.Rate(r) }),
		StopOn: (*api.StopOn)(r.StopOn), Canary: r.Canary.API(), Deadline: r.Deadline,
	}
}

// API returns the canary as the API shows it.
func (c *Canary) API() *api.Canary {
	if c == nil {
		return nil
	}
	return &api.Canary{Percent: c.Percent, Items: c.Items, Approve: c.Approve, SuccessRate: c.SuccessRate, P95: api.Duration(c.P95)}
}

// API returns the callback as the API shows it: without its secret.
func (c *Callback) API() *api.Callback {
	if c == nil {
		return nil
	}
	return &api.Callback{URL: c.URL, Events: c.Events}
}

// SourceOf returns a source as it is stored.
func SourceOf(s *api.Source) *Source {
	if s == nil {
		return nil
	}
	return &Source{
		Segment: (*SegmentSource)(s.Segment), Postgres: (*PostgresSource)(s.Postgres), Object: (*ObjectSource)(s.Object),
		Kafka:    (*KafkaSource)(s.Kafka),
		PageSize: s.PageSize, Timeout: Duration(s.Timeout), Upload: s.Upload, Added: s.Added,
	}
}

// API returns the source as the API shows it.
func (s *Source) API() *api.Source {
	if s == nil {
		return nil
	}
	return &api.Source{
		Segment: (*api.SegmentSource)(s.Segment), Postgres: (*api.PostgresSource)(s.Postgres),
		Object: (*api.ObjectSource)(s.Object), Kafka: (*api.KafkaSource)(s.Kafka),
		PageSize: s.PageSize, Timeout: api.Duration(s.Timeout), Upload: s.Upload, Added: s.Added,
	}
}

// StepsOf returns steps as they are stored.
func StepsOf(steps []api.Step) []Step {
	return list(steps, func(s api.Step) Step { return Step(s) })
}

// APISteps returns steps as the API shows them.
func APISteps(steps []Step) []api.Step {
	return list(steps, func(s Step) api.Step { return api.Step(s) })
}

// ItemsOf returns the items of a request as they are stored.
func ItemsOf(items []api.Item) []Item {
	return list(items, func(it api.Item) Item { return Item(it) })
}

func apiItems(items []Item) []api.Item {
	return list(items, func(it Item) api.Item { return api.Item(it) })
}

// list translates the entries of a list; nil stays nil.
func list[A, B any](all []A, of func(A) B) []B {
	if all == nil {
		return nil
	}
	out := make([]B, len(all))
	for i := range all {
		out[i] = of(all[i])
	}
	return out
}

// each translates the values of a map; nil stays nil.
func each[A, B any](all map[string]A, of func(A) B) map[string]B {
	if all == nil {
		return nil
	}
	out := make(map[string]B, len(all))
	for k, v := range all {
		out[k] = of(v)
	}
	return out
}
