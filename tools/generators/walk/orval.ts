// The story by the client of orval, which calls fetch with paths: the server goes before them.
import * as api from "../gen/orval/weir.js";
import { label, server, tell } from "./story.js";

const plain = globalThis.fetch;
globalThis.fetch = (path, options) => plain(server + String(path), options);

// json is sent with the append: of three kinds of body orval takes none for granted.
const json = { headers: { "Content-Type": "application/json" } };

await tell({
	create: async (key) => {
		const a = await api.bulkActionCreate({ steps: [{ action: "demo.award" }, { action: "demo.message" }], labels: { story: label.slice(6) } },
			{ headers: { "Idempotency-Key": key } });
		if (a.status !== 201) throw new Error(a.data.code);
		return a.data.id!;
	},
	append: async (id, rows) => {
		const a = await api.bulkActionAppend(id, rows, {}, json);
		if (a.status !== 202) throw new Error(a.data.code);
		return a.data.accepted;
	},
	seal: async (id, items) => {
		const a = await api.bulkActionSeal(id, { expected_items: items });
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data.counts.total;
	},
	start: async (id) => {
		const a = await api.bulkActionStart(id, {});
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data.state;
	},
	progress: async (id) => {
		const a = await api.bulkActionProgress(id);
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data;
	},
	report: async (id) => {
		const a = await api.bulkActionReport(id);
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data.counts;
	},
	failed: async (id) => {
		const a = await api.bulkActionItems(id, { state: "failed" });
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data.data;
	},
	lookup: async (id) => {
		const a = await api.itemLookup({ id });
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data.history.map((i) => i.bulk_action);
	},
	retry: async (id) => {
		const a = await api.bulkActionRetry(id, { state: "failed" });
		if (a.status !== 201) throw new Error(a.data.code);
		return a.data.bulk_actions.map((b) => b.id!);
	},
	list: async (label) => {
		// One state: orval sends several as state=a&state=b, and the document asks for state=a,b.
		const a = await api.bulkActionList({ state: ["completed"], label });
		if (a.status !== 200) throw new Error(a.data.code);
		return a.data.data.map((b) => b.id!);
	},
	missing: async (id) => {
		const a = await api.bulkActionGet(id);
		if (a.status !== 404) throw new Error("status " + a.status);
		return { status: a.data.status, code: a.data.code };
	},
	invalid: async () => {
		const a = await api.bulkActionCreate({ steps: [{ action: "demo.award" }], priority: 1000 });
		if (a.status !== 422) throw new Error("status " + a.status);
		return (a.data.errors ?? []).map((fault) => fault.field ?? "");
	},
});
