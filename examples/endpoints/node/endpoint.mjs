// An HTTP action of weir with what Node.js 18.12 or later has.
//
//	WEIR_SECRET=whsec_... PORT=9000 STORE=done.jsonl node endpoint.mjs
//
// Put your own work into award, and more functions like it into actions.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const secret = process.env.WEIR_SECRET; // of the action in weir: whsec_ and base64
const maxBody = 8 << 20; // bytes of a call
const maxCalls = Number(process.env.MAX_CALLS ?? 8); // at a time; more get 429
const readMillis = Number(process.env.READ_SECONDS ?? 10) * 1000; // for a whole request
if (!secret) throw new Error("WEIR_SECRET is not set");

// award does the work for one item. What it returns is kept, and returned again for the same key.
async function award(id, data, dryRun) {
	if (typeof data !== "object" || data === null || Array.isArray(data)) return { status: "failed", code: "bad_data", message: "data must be an object" };
	if (data.closed === true) return { status: "failed", code: "closed", message: "the account is closed" };
	if (data.busy === true) return { status: "retry", code: "busy", retry_after: "30s" };
	return { status: "done", output: { reward_id: dryRun ? "dry-run" : "r-" + randomBytes(8).toString("hex") } };
}

const actions = new Map([["/award", award]]); // path of the action's URL: function

// The results by key: in memory, and in a file that is read at the start. Your own work belongs into one
// transaction of your database with its result.
const file = process.env.STORE;
const done = new Map();
if (file && existsSync(file))
	for (const line of readFileSync(file, "utf8").split("\n")) {
		try {
			done.set(...JSON.parse(line));
		} catch {} // the last line, cut off when the program was killed
	}
const inWork = new Map(); // key: promise of its result

// once returns the result of work, or the earlier one of this key.
function once(key, work) {
	if (done.has(key)) return done.get(key);
	if (!inWork.has(key)) {
		const result = work().then((r) => {
			if (r.status !== "retry") {
				if (file) appendFileSync(file, "\n" + JSON.stringify([key, r]) + "\n");
				done.set(key, r);
			}
			return r;
		});
		inWork.set(key, result.finally(() => inWork.delete(key)));
	}
	return inWork.get(key);
}

function verify(headers, body) {
	const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
	const [id, at, signed] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => String(headers[name] ?? ""));
	if (!/^[0-9]{1,11}$/.test(at) || Math.abs(Date.now() / 1000 - Number(at)) > 300) return false; // missing, not a number, or more than five minutes away
	const mac = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64");
	const want = Buffer.from("v1," + mac);
	return signed.split(" ").map((s) => Buffer.from(s)) // bytes: timingSafeEqual throws at other lengths
		.some((s) => s.length === want.length && timingSafeEqual(s, want));
}

// parse returns a call, or throws.
function parse(body) {
	const call = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
	const text = (value) => typeof value === "string" && value.length <= 1024;
	if (!Array.isArray(call?.items) || !call.items.every((i) => text(i?.id) && text(i.idempotency_key) && i.idempotency_key))
		throw new Error("items must be objects with id and idempotency_key");
	return call;
}

class Refusal extends Error {
	constructor(status, message, headers = {}) {
		super(message);
		Object.assign(this, { status, headers });
	}
}

let calls = 0;

async function serve(request) {
	const work = actions.get(request.url);
	if (!work) throw new Refusal(404, "no action has this path");
	if (request.method !== "POST") throw new Refusal(405, "use POST", { Allow: "POST" });
	if (!request.headers["content-length"]) throw new Refusal(411, "Content-Length is required");
	if (Number(request.headers["content-length"]) > maxBody) throw new Refusal(413, "the body is too large");
	const parts = [];
	for await (const part of request) parts.push(part); // throws if the body is cut off or takes too long
	const body = Buffer.concat(parts);
	if (!verify(request.headers, body)) throw new Refusal(401, "the signature is wrong, or too old");
	if (calls >= maxCalls) throw new Refusal(429, "too many calls", { "Retry-After": "1" });
	calls++;
	try {
		let call;
		try {
			call = parse(body);
		} catch (problem) {
			throw new Refusal(400, problem.message);
		}
		const results = [];
		for (const item of call.items) { // one after the other: a failing one ends the call, and what is done is kept
			const run = () => Promise.resolve(work(item.id, item.data, call.dry_run === true));
			const key = request.url + " " + item.idempotency_key;
			const result = call.dry_run === true ? (done.get(key) ?? (await run())) : await once(key, run);
			results.push({ id: item.id, ...result });
		}
		return { results };
	} finally {
		calls--;
	}
}

const server = createServer({ requestTimeout: readMillis, headersTimeout: readMillis, connectionsCheckingInterval: 500 }, async (request, response) => {
	const answer = (status, value, headers = {}) => {
		if (!request.complete) headers = { ...headers, Connection: "close" }; // what is left of the request is not read
		response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
	};
	try {
		answer(200, await serve(request));
	} catch (problem) {
		if (request.destroyed && !request.complete) return; // the client has gone
		if (!(problem instanceof Refusal)) console.error(problem);
		answer(problem.status ?? 500, { error: problem.status ? problem.message : "the work failed" }, problem.headers); // 500: weir sends the items again
	}
});
server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
