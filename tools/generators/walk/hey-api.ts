// The story by the client of hey-api.
import { client } from "../gen/hey-api/client.gen.js";
import * as api from "../gen/hey-api/sdk.gen.js";
import { label, server, tell } from "./story.js";

client.setConfig({ baseUrl: server });

// data returns what a call returned, or throws its problem.
function data<T>(answer: { data?: T | undefined; error?: unknown }): T {
	if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
	return answer.data;
}

await tell({
	create: async (key) =>
		data(await api.bulkActionCreate({
			headers: { "Idempotency-Key": key },
			body: { steps: [{ action: "demo.award" }, { action: "demo.message" }], labels: { story: label.slice(6) } },
		})).id!,
	append: async (id, rows) => data(await api.bulkActionAppend({ path: { id }, body: rows })).accepted,
	seal: async (id, items) => data(await api.bulkActionSeal({ path: { id }, body: { expected_items: items } })).counts.total,
	start: async (id) => data(await api.bulkActionStart({ path: { id }, body: {} })).state,
	progress: async (id) => data(await api.bulkActionProgress({ path: { id } })),
	report: async (id) => data(await api.bulkActionReport({ path: { id } })).counts,
	failed: async (id) => data(await api.bulkActionItems({ path: { id }, query: { state: "failed" } })).data,
	lookup: async (id) => data(await api.itemLookup({ body: { id } })).history.map((i) => i.bulk_action),
	retry: async (id) => data(await api.bulkActionRetry({ path: { id }, body: { state: "failed" } })).bulk_actions.map((b) => b.id!),
	list: async (label) => data(await api.bulkActionList({ query: { state: ["completed", "running"], label } })).data.map((b) => b.id!),
	missing: async (id) => {
		const { error } = await api.bulkActionGet({ path: { id } });
		if (!error) throw new Error("no error");
		return { status: error.status, code: error.code };
	},
	invalid: async () => {
		const { error } = await api.bulkActionCreate({ body: { steps: [{ action: "demo.award" }], priority: 1000 } });
		return (error?.errors ?? []).map((fault) => fault.field ?? "");
	},
});
