package grafana

// fleet shows all nodes.
func fleet() Dashboard {
	return Dashboard{
		Name: "weir-fleet", Title: "weir: fleet",
		About:     "All nodes together. Each value is explained in the metrics page of the documentation.",
		Variables: []Variable{job},
		Panels:    append(append(fleetWork(), fleetPromises()...), fleetMachines()...),
	}
}

// fleetWork are the panels about items and bulk actions.
func fleetWork() []Panel {
	return []Panel{
		{"Items ended", "Items that ended, by how they did.", perItem, []Query{
			q("{{state}}", `sum by (state) (rate(weir_items_finished_total{}[$__rate_interval]))`)}},
		{"Items accepted", "Items of new bulk actions, by where they came from.", perItem, []Query{
			q("{{source}}", `sum by (source) (rate(weir_items_ingested_total{}[$__rate_interval]))`)}},
		{"Bulk actions", "Bulk actions that have not ended, by state.", waiting, []Query{
			q("{{state}}", `sum by (state) (weir_bulk_actions{})`)}},
		{"Attempts that did not succeed", "Share of the attempts of items that failed, will be repeated, or were refused.", share, []Query{
			q("{{result}}", `sum by (result) (rate(weir_item_attempts_total{result!="done"}[$__rate_interval])) `+
				`/ on () group_left () sum(rate(weir_item_attempts_total{}[$__rate_interval]))`)}},
		{"What bulk actions wait for", "Bulk actions that wait, by main reason, on average.", waiting, []Query{
			q("{{reason}}", `sum by (reason) (rate(weir_waiting_seconds_total{}[$__rate_interval]))`)}},
		{"Failed items kept", "Failed items that were neither retried nor discarded, by action.", itemUnit, []Query{
			q("{{action}}", `sum by (action) (weir_dlq_items{})`)}},
	}
}

// fleetPromises are the panels about objectives and fairness.
func fleetPromises() []Panel {
	return []Panel{
		{"Begun in time", "Share of the bulk actions of the last hour whose first call began within the target of their tier.", share, []Query{
			q("{{tier}}", `sum by (tier) (increase(weir_slo_bulk_actions_good_total{}[1h])) / sum by (tier) (increase(weir_slo_bulk_actions_total{}[1h]))`)}},
		{"Speed at which the error budget is spent", "1 spends the budget of 1 % exactly; the alerts fire above 1, 6 and 14.4.", times, []Query{
			q("{{tier}}", `(1 - sum by (tier) (rate(weir_slo_bulk_actions_good_total{}[1h])) / sum by (tier) (rate(weir_slo_bulk_actions_total{}[1h]))) / 0.01`)}},
		{"Slowdown", "How many times longer bulk actions took than alone: the slowest hundredth of the last hour, by size in items.", times, []Query{
			q("{{size}}", `histogram_quantile(0.99, sum by (le, size) (rate(weir_bulk_action_slowdown_ratio_bucket{}[1h])))`)}},
		{"Fairness", "Jain's index of what tenants get of their shares, by resource, on average over five minutes: 1 is fair.", number, []Query{
			q("{{resource}}", `max by (resource) (avg_over_time(weir_resource_fairness_ratio{}[5m]))`)}},
		{"Signs of trouble", "Counts of the last hour that are 0 in a healthy fleet, and bulk actions that stall now.", perHour, []Query{
			q("partitions lost", `sum(increase(weir_leases_lost_total{}[1h]))`),
			q("store went back", `sum(increase(weir_store_regressions_total{}[1h]))`),
			q("counts wrong", `sum(increase(weir_conservation_violations_total{}[1h]))`),
			q("results too late", `sum(increase(weir_late_results_dropped_total{}[1h]))`),
			q("stalled", `sum(weir_bulk_actions_stalled{})`)}},
		{"Callbacks and schedules", "Deliveries of callbacks, and times of schedules, in the last hour.", perHour, []Query{
			q("callbacks {{result}}", `sum by (result) (increase(weir_callback_deliveries_total{}[1h]))`),
			q("schedules {{result}}", `sum by (result) (increase(weir_schedule_fires_total{}[1h]))`)}},
	}
}

// fleetMachines are the panels about nodes and the store.
func fleetMachines() []Panel {
	return []Panel{
		{"Nodes", "Nodes that the leader knows, nodes whose slots would fit the load, and leaders: one, or none for a few seconds.", number, []Query{
			q("known", `max(weir_nodes{})`), q("needed", `max(weir_nodes_desired{})`), q("leaders", `sum(weir_leader{})`)}},
		{"Workers", "Slots of all nodes, workers that are busy, and workers that the load would keep busy.", number, []Query{
			q("slots", `sum(weir_node_slots{})`), q("busy", `sum(rate(weir_lane_busy_seconds_total{}[$__rate_interval]))`),
			q("needed", `sum(max by (partition, lane) (weir_lane_workers_needed{}))`)}},
		{"Processor", "Share of its processors that each node uses.", share, []Query{q("{{instance}}", `weir_node_cpu_ratio{}`)}},
		{"Memory", "Memory of each process.", size, []Query{q("{{instance}}", `process_resident_memory_bytes{}`)}},
		{"Commits", "Duration of commits in the store.", seconds, []Query{
			q("p50", `histogram_quantile(0.5, sum by (le) (rate(weir_store_commit_duration_seconds_bucket{}[$__rate_interval])))`),
			q("p99", `histogram_quantile(0.99, sum by (le) (rate(weir_store_commit_duration_seconds_bucket{}[$__rate_interval])))`)}},
		{"Store", "Size of the store; in Redis it is the memory of the servers.", size, []Query{q("size", `max(weir_store_size_bytes{})`)}},
		{"Requests", "Requests to the API and the pages, by status.", perCall, []Query{
			q("{{code}}", `sum by (code) (rate(weir_http_request_duration_seconds_count{}[$__rate_interval]))`)}},
		{"Duration of requests", "The slowest hundredth of the requests, by method; reads of events last as long as their reader stays.", seconds, []Query{
			q("{{method}}", `histogram_quantile(0.99, sum by (le, method) (rate(weir_http_request_duration_seconds_bucket{}[$__rate_interval])))`)}},
	}
}

// tenant shows the work of one tenant.
func tenant() Dashboard {
	const of = `tenant="$tenant"`
	return Dashboard{
		Name: "weir-tenant", Title: "weir: tenant",
		About: "The work of one tenant. The fifty tenants with the most items have names; the rest together are `other`. " +
			"A node measures shares for its own partitions: these are averages over nodes.",
		Variables: []Variable{job, {Name: "tenant", Label: "Tenant", Metric: "weir_items_ingested_total", Of: "tenant"}},
		Panels: []Panel{
			{"Items accepted", "Items of new bulk actions, by where they came from.", perItem, []Query{
				q("{{source}}", `sum by (source) (rate(weir_items_ingested_total{`+of+`}[$__rate_interval]))`)}},
			{"Items ended", "Items that ended, by how they did.", perItem, []Query{
				q("{{state}}", `sum by (state) (rate(weir_items_finished_total{`+of+`}[$__rate_interval]))`)}},
			{"Items by action", "Items that ended, by the action at which they did.", perItem, []Query{
				q("{{action}}", `sum by (action) (rate(weir_items_finished_total{`+of+`}[$__rate_interval]))`)}},
			{"Failed items", "Share of the items that ended, and failed.", share, []Query{
				q("failed", `sum(rate(weir_items_finished_total{`+of+`, state="failed"}[$__rate_interval])) / sum(rate(weir_items_finished_total{`+of+`}[$__rate_interval]))`)}},
			{"Shares of resources", "The part of each resource that the tenant is entitled to, and that it gets.", share, []Query{
				q("{{resource}} entitled", `avg by (resource) (weir_tenant_share_ratio{`+of+`, kind="entitled"})`),
				q("{{resource}} actual", `avg by (resource) (weir_tenant_share_ratio{`+of+`, kind="actual"})`)}},
			{"Time without its share", "Resources on which the tenant had work and got less than half of its share, on average, each node counted apart.", number, []Query{
				q("resources", `sum(rate(weir_tenant_starved_seconds_total{`+of+`}[$__rate_interval]))`)}},
			{"Part of all items", "Part of the items of all tenants that ended.", share, []Query{
				q("of all", `sum(rate(weir_items_finished_total{`+of+`}[$__rate_interval])) / sum(rate(weir_items_finished_total{}[$__rate_interval]))`)}},
			{"Tenants with the most items", "Items that ended, of the ten tenants with the most.", perItem, []Query{
				q("{{tenant}}", `topk(10, sum by (tenant) (rate(weir_items_finished_total{}[$__rate_interval])))`)}},
		},
	}
}

// resource shows one resource.
func resource() Dashboard {
	const lane, of = `lane="$resource"`, `resource="$resource"`
	return Dashboard{
		Name: "weir-resource", Title: "weir: resource",
		About: "One resource, such as a service that actions call: what it may take, what it gets, and who waits. " +
			"`set` is a limit that was set; `adaptive` is what flow control found out.",
		Variables: []Variable{job, {Name: "resource", Label: "Resource", Metric: "weir_circuit_open", Of: "resource"}},
		Panels: []Panel{
			{"Tasks", "Tasks that became ready, and that ended, with those that failed and that the resource refused.", perTask, []Query{
				q("ready", `sum(rate(weir_lane_tasks_arrived_total{`+lane+`}[$__rate_interval]))`),
				q("ended", `sum(rate(weir_lane_tasks_ended_total{`+lane+`}[$__rate_interval]))`),
				q("failed", `sum(rate(weir_lane_tasks_failed_total{`+lane+`}[$__rate_interval]))`),
				q("refused", `sum(rate(weir_lane_tasks_refused_total{`+lane+`}[$__rate_interval]))`)}},
			{"Rate allowed", "The rate that was set for all nodes, and the sum of those that flow control set; empty without a limit.", perItem, []Query{
				q("set", `max(weir_resource_rate_items_per_second{`+of+`, kind="set"})`),
				q("adaptive", `sum(weir_resource_rate_items_per_second{`+of+`, kind="adaptive"})`)}},
			{"Use of the rate", "Share of the allowed rate that is used, on average over nodes; empty without a limit.", share, []Query{
				q("used", `avg(weir_resource_use_ratio{`+of+`})`)}},
			{"Tasks by state", "Tasks that are ready, wait for their time, or are in flight.", tasks, []Query{
				q("{{state}}", `sum by (state) (weir_lane_tasks{`+lane+`})`)}},
			{"Concurrency", "Tasks in flight, and the limits on them; without a limit only the tasks.", tasks, []Query{
				q("in flight", `sum(weir_lane_tasks{`+lane+`, state="in_flight"})`),
				q("set", `max(weir_resource_concurrency{`+of+`, kind="set"})`),
				q("adaptive", `sum(weir_resource_concurrency{`+of+`, kind="adaptive"})`)}},
			{"Workers", "Workers of its lanes, those that the load needs, and those that its limits would keep busy.", number, []Query{
				q("workers", `sum(weir_lane_workers{`+lane+`})`),
				q("needed", `sum(max by (partition) (weir_lane_workers_needed{`+lane+`}))`),
				q("useful", `sum(max by (partition) (weir_lane_workers_useful{`+lane+`}))`)}},
			{"Wait for a worker", "The longest waits of a lane during a second, by percentile.", seconds, []Query{
				q("p{{percentile}}", `max by (percentile) (weir_lane_wait_seconds{`+lane+`})`)}},
			{"Longest wait of a tenant", "How long the tenant that waits longest has waited.", seconds, []Query{
				q("oldest", `max(weir_lane_oldest_ready_seconds{`+lane+`})`)}},
			{"Waits for the resource", "Lanes that wait for its rate, its concurrency or its circuit, on average.", number, []Query{
				q("lanes", `sum(rate(weir_resource_wait_seconds_total{`+of+`}[$__rate_interval]))`)}},
			{"Circuit", "1 while a node starts no call: calls fail, or an operator opened the circuit.", number, []Query{
				q("{{instance}}", `max by (instance) (weir_circuit_open{`+of+`})`)}},
			{"Fairness", "Jain's index of what tenants get of their shares, on average over five minutes: 1 is fair.", number, []Query{
				q("index", `max(avg_over_time(weir_resource_fairness_ratio{`+of+`}[5m]))`)}},
			{"Shares of tenants", "The part that tenants get, of the ten with the most, on average over nodes.", share, []Query{
				q("{{tenant}}", `topk(10, avg by (tenant) (weir_tenant_share_ratio{`+of+`, kind="actual"}))`)}},
		},
	}
}

// bulkAction shows what metrics tell about one bulk action.
func bulkAction() Dashboard {
	const of, call = `tenant="$tenant", action="$action"`, `action="$action"`
	return Dashboard{
		Name: "weir-bulk-action", Title: "weir: bulk action",
		About: "Metrics have no ids of bulk actions: there are too many. These panels show a tenant and an action; while one bulk action " +
			"of theirs runs, they show that one. Its own counts, rate, forecast and errors are on its page: " +
			"[${bulk_action}](${weir}/ui/bulk-actions/${bulk_action}), [timeline](${weir}/ui/bulk-actions/${bulk_action}/timeline), " +
			"[errors](${weir}/ui/bulk-actions/${bulk_action}/errors).",
		Variables: []Variable{
			job, {Name: "tenant", Label: "Tenant", Metric: "weir_items_finished_total", Of: "tenant"},
			{Name: "action", Label: "Action", Metric: "weir_item_attempts_total", Of: "action"},
			{Name: "bulk_action", Label: "Bulk action", Default: "id"},
			{Name: "weir", Label: "Address of weir", Default: "http://localhost:8080"},
		},
		Panels: []Panel{
			{"Items ended", "Items of the tenant that ended at the action, by how they did.", perItem, []Query{
				q("{{state}}", `sum by (state) (rate(weir_items_finished_total{`+of+`}[$__rate_interval]))`)}},
			{"Items ended, in total", "Items of the tenant that ended at the action; the last value is of all the time shown.", itemUnit, []Query{
				q("{{state}}", `sum by (state) (increase(weir_items_finished_total{`+of+`}[$__range]))`)}},
			{"Attempts", "Attempts at the action, of all tenants, by result.", perItem, []Query{
				q("{{result}}", `sum by (result) (rate(weir_item_attempts_total{`+call+`}[$__rate_interval]))`)}},
			{"Duration of calls", "How long calls of the action take.", seconds, []Query{
				q("p50", `histogram_quantile(0.5, sum by (le) (rate(weir_task_duration_seconds_bucket{`+call+`}[$__rate_interval])))`),
				q("p99", `histogram_quantile(0.99, sum by (le) (rate(weir_task_duration_seconds_bucket{`+call+`}[$__rate_interval])))`)}},
			{"Items in a call", "Items that a call of the action has, on average.", itemUnit, []Query{
				q("items", `sum(rate(weir_task_items_sum{`+call+`}[$__rate_interval])) / sum(rate(weir_task_items_count{`+call+`}[$__rate_interval]))`)}},
			{"Calls in flight", "Calls of the action that run now.", tasks, []Query{q("in flight", `sum(weir_tasks_in_flight{`+call+`})`)}},
			{"Wait for the first call", "From the start of a bulk action to the first call of an item.", seconds, []Query{
				q("p50", `histogram_quantile(0.5, sum by (le) (rate(weir_item_wait_seconds_bucket{`+call+`}[$__rate_interval])))`),
				q("p99", `histogram_quantile(0.99, sum by (le) (rate(weir_item_wait_seconds_bucket{`+call+`}[$__rate_interval])))`)}},
			{"Failed items kept", "Failed items at the action that were neither retried nor discarded.", itemUnit, []Query{
				q("items", `sum(weir_dlq_items{`+call+`})`)}},
			{"Part that the tenant gets", "The part of each resource that the tenant is entitled to, and that it gets.", share, []Query{
				q("{{resource}} {{kind}}", `avg by (resource, kind) (weir_tenant_share_ratio{tenant="$tenant"})`)}},
			{"Slowdown", "How many times longer bulk actions took than alone: half of those of the last hour took less, by size in items.", times, []Query{
				q("{{size}}", `histogram_quantile(0.5, sum by (le, size) (rate(weir_bulk_action_slowdown_ratio_bucket{}[1h])))`)}},
		},
	}
}
