// The story that each generated client tells: its functions are thin, and have the generator's own types.

// Counts are the items of a bulk action by state.
export interface Counts {
	total: number;
	done: number;
	failed: number;
}

// Calls are the requests of the story.
export interface Calls {
	create(key: string): Promise<string>;
	append(id: string, rows: { id: string; amount: number }[]): Promise<number>;
	seal(id: string, items: number): Promise<number>;
	start(id: string): Promise<string>;
	progress(id: string): Promise<{ state: string; counts: Counts }>;
	report(id: string): Promise<Counts>;
	failed(id: string): Promise<{ id: string; state: string; code?: string }[]>;
	lookup(id: string): Promise<string[]>;
	retry(id: string): Promise<string[]>;
	list(label: string): Promise<string[]>;
	// missing asks for a bulk action that does not exist, and returns status and code of the problem.
	missing(id: string): Promise<{ status: number; code: string }>;
	// invalid sends a value that is out of range, and returns the fields that the problem names.
	invalid(): Promise<string[]>;
}

export const server = process.argv[2] ?? "";
export const label = "story=" + Math.random().toString(36).slice(2);

function want(is: boolean, what: unknown): void {
	if (!is) throw new Error(JSON.stringify(what));
}

// tell takes a bulk action of two steps from its creation to the retry of its failed items.
export async function tell(calls: Calls): Promise<void> {
	const key = "create-" + label;
	const id = await calls.create(key);
	want((await calls.create(key)) === id, "the same Idempotency-Key makes another bulk action");
	const rows = Array.from({ length: 3000 }, (_, i) => ({ id: "user-" + i, amount: i }));
	want((await calls.append(id, rows)) === rows.length, "append");
	want((await calls.seal(id, rows.length)) === rows.length, "seal");
	await calls.start(id);
	for (const end = Date.now() + 120_000; ; ) {
		const p = await calls.progress(id);
		if (p.state === "completed") break;
		want(Date.now() < end, p);
		await new Promise((done) => setTimeout(done, 100));
	}
	const counts = await calls.report(id);
	want(counts.total === rows.length && counts.failed > 0 && counts.done + counts.failed === counts.total, counts);
	const failed = await calls.failed(id);
	want(failed.length === counts.failed && failed.every((i) => i.state === "failed" && i.code !== undefined), failed);
	want((await calls.lookup(failed[0]!.id)).includes(id), "lookup");
	const retries = await calls.retry(id);
	want(retries.length > 0, "retry");
	want((await calls.list(label)).includes(id), "list");
	const missing = await calls.missing("ba_01k9x2v6w4s8m1c7q3d5f9h0jz");
	want(missing.status === 404 && missing.code === "not_found", missing);
	const fields = await calls.invalid();
	want(fields.some((f) => f.includes("priority")), fields);
	console.log(`${counts.total} items, ${counts.failed} failed, ${retries.length} retries`);
}
