// The story by openapi-fetch, with the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { paths } from "../gen/openapi-typescript/schema.js";
import { label, server, tell } from "./story.js";

// The document asks for lists with commas between their values, which openapi-fetch has to be told.
const api = createClient<paths>({ baseUrl: server, querySerializer: { array: { style: "form", explode: false } } });

// data returns what a call returned, or throws its problem.
function data<T>(answer: { data?: T; error?: unknown }): T {
	if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
	return answer.data;
}

await tell({
	create: async (key) =>
		data(await api.POST("/v1/bulk-actions", {
			params: { header: { "Idempotency-Key": key } },
			body: { steps: [{ action: "demo.award" }, { action: "demo.message" }], labels: { story: label.slice(6) } },
		})).id!,
	append: async (id, rows) => data(await api.POST("/v1/bulk-actions/{id}/items", { params: { path: { id } }, body: rows })).accepted,
	seal: async (id, items) => data(await api.POST("/v1/bulk-actions/{id}/seal", { params: { path: { id } }, body: { expected_items: items } })).counts.total,
	start: async (id) => data(await api.POST("/v1/bulk-actions/{id}/start", { params: { path: { id } }, body: {} })).state,
	progress: async (id) => data(await api.GET("/v1/bulk-actions/{id}/progress", { params: { path: { id } } })),
	report: async (id) => data(await api.GET("/v1/bulk-actions/{id}/report", { params: { path: { id } } })).counts,
	failed: async (id) => data(await api.GET("/v1/bulk-actions/{id}/items", { params: { path: { id }, query: { state: "failed" } } })).data,
	lookup: async (id) => data(await api.POST("/v1/items/lookup", { body: { id } })).history.map((i) => i.bulk_action),
	retry: async (id) => data(await api.POST("/v1/bulk-actions/{id}/retry", { params: { path: { id } }, body: { state: "failed" } })).bulk_actions.map((b) => b.id!),
	list: async (label) => data(await api.GET("/v1/bulk-actions", { params: { query: { state: ["completed", "running"], label } } })).data.map((b) => b.id!),
	missing: async (id) => {
		const { error } = await api.GET("/v1/bulk-actions/{id}", { params: { path: { id } } });
		if (!error) throw new Error("no error");
		return { status: error.status, code: error.code };
	},
	invalid: async () => {
		const { error } = await api.POST("/v1/bulk-actions", { body: { steps: [{ action: "demo.award" }], priority: 1000 } });
		return (error?.errors ?? []).map((fault) => fault.field ?? "");
	},
});
