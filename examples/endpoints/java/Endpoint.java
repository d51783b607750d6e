import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.*;
import java.util.concurrent.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * An HTTP action of weir with what Java 17 or later has. Put your own work into award, and more functions like it into
 * ACTIONS. A program with a library for JSON leaves out the class Json.
 *
 * <pre>WEIR_SECRET=whsec_... PORT=9000 java Endpoint.java</pre>
 */
public class Endpoint {
	static final String SECRET = Objects.requireNonNull(System.getenv("WEIR_SECRET"), "WEIR_SECRET is not set");
	static final int MAX_BODY = 8 << 20; // bytes of a call
	static final Semaphore CALLS = new Semaphore(Integer.parseInt(env("MAX_CALLS", "8"))); // at a time; more get 429
	static final SecureRandom RANDOM = new SecureRandom();

	interface Work {
		Map<String, Object> apply(String id, Object data, boolean dryRun);
	}

	/** Does the work for one item. What it returns is kept, and returned again for the same key. */
	static Map<String, Object> award(String id, Object data, boolean dryRun) {
		if (!(data instanceof Map<?, ?> user)) {
			return Map.of("status", "failed", "code", "bad_data", "message", "data must be an object");
		}
		if (Boolean.TRUE.equals(user.get("closed"))) {
			return Map.of("status", "failed", "code", "closed", "message", "the account is closed");
		}
		if (Boolean.TRUE.equals(user.get("busy"))) {
			return Map.of("status", "retry", "code", "busy", "retry_after", "30s");
		}
		return Map.of("status", "done", "output", Map.of("reward_id", dryRun ? "dry-run" : "r-" + Long.toHexString(RANDOM.nextLong())));
	}

	static final Map<String, Work> ACTIONS = Map.of("/award", Endpoint::award); // path of the action's URL: function

	/** The results by key, in memory: take a table of your database, and do the work in one transaction with its row. */
	static final ConcurrentMap<String, Map<String, Object>> DONE = new ConcurrentHashMap<>();

	static Map<String, Object> once(String key, boolean dryRun, Callable<Map<String, Object>> work) throws Exception {
		if (dryRun) {
			return DONE.containsKey(key) ? DONE.get(key) : work.call();
		}
		var retry = new ArrayList<Map<String, Object>>();
		var kept = DONE.computeIfAbsent(key, k -> { // one thread at a time for a key
			try {
				var result = work.call();
				if (!"retry".equals(result.get("status"))) {
					return result;
				}
				retry.add(result); // not kept: the next attempt tries again
				return null;
			} catch (Exception e) {
				throw new CompletionException(e);
			}
		});
		return kept != null ? kept : retry.get(0);
	}

	static boolean verify(HttpExchange x, byte[] body) throws Exception {
		var h = x.getRequestHeaders();
		String id = Objects.toString(h.getFirst("webhook-id"), ""), at = Objects.toString(h.getFirst("webhook-timestamp"), "");
		if (!at.matches("[0-9]{1,11}") || Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(at)) > 300) {
			return false; // missing, not a number, or more than five minutes away
		}
		var mac = Mac.getInstance("HmacSHA256");
		mac.init(new SecretKeySpec(Base64.getDecoder().decode(SECRET.replaceFirst("^whsec_", "")), "HmacSHA256"));
		mac.update((id + "." + at + ".").getBytes(StandardCharsets.UTF_8));
		var want = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
		return Arrays.stream(Objects.toString(h.getFirst("webhook-signature"), "").split(" "))
				.anyMatch(s -> MessageDigest.isEqual(want, s.getBytes(StandardCharsets.UTF_8)));
	}

	static class Refusal extends Exception {
		final int status;

		Refusal(int status, String message) {
			super(message);
			this.status = status;
		}
	}

	static Object serve(HttpExchange x) throws Exception {
		var work = ACTIONS.get(Objects.toString(x.getRequestURI().getPath(), ""));
		if (work == null) throw new Refusal(404, "no action has this path");
		if (!x.getRequestMethod().equals("POST")) throw new Refusal(405, "use POST");
		var length = Objects.toString(x.getRequestHeaders().getFirst("Content-Length"), "");
		if (!length.matches("[0-9]{1,15}")) throw new Refusal(411, "Content-Length is required");
		if (Long.parseLong(length) > MAX_BODY) throw new Refusal(413, "the body is too large");
		var body = x.getRequestBody().readNBytes(MAX_BODY);
		if (body.length != Long.parseLong(length)) throw new Refusal(400, "the body was cut off");
		if (!verify(x, body)) throw new Refusal(401, "the signature is wrong, or too old");
		if (!CALLS.tryAcquire()) throw new Refusal(429, "too many calls");
		try {
			var results = new ArrayList<Object>();
			var call = parse(body);
			boolean dryRun = Boolean.TRUE.equals(call.get("dry_run"));
			for (Object one : (List<?>) call.get("items")) {
				var item = (Map<?, ?>) one;
				var id = (String) item.get("id");
				var result = new LinkedHashMap<String, Object>(Map.of("id", id));
				result.putAll(once(x.getRequestURI().getPath() + " " + item.get("idempotency_key"), dryRun, () -> work.apply(id, item.get("data"), dryRun)));
				results.add(result);
			}
			return Map.of("results", results);
		} finally {
			CALLS.release();
		}
	}

	static Map<?, ?> parse(byte[] body) throws Refusal {
		try {
			var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString(); // refuses what is not UTF-8
			if (new Json(text).read() instanceof Map<?, ?> call && call.get("items") instanceof List<?> items && items.stream().allMatch(Endpoint::isItem)) {
				return call;
			}
			throw new Refusal(400, "items must be objects with id and idempotency_key");
		} catch (IllegalArgumentException | CharacterCodingException e) {
			throw new Refusal(400, "not JSON: " + e.getMessage());
		}
	}

	static boolean isItem(Object o) {
		return o instanceof Map<?, ?> item && item.get("id") instanceof String id && id.length() <= 1024
				&& item.get("idempotency_key") instanceof String key && !key.isEmpty() && key.length() <= 1024;
	}

	static void handle(HttpExchange x) throws IOException {
		int status = 200;
		Object value;
		try {
			value = serve(x);
		} catch (Refusal refusal) {
			status = refusal.status;
			value = Map.of("error", refusal.getMessage());
			x.getResponseHeaders().set("Allow", "POST");
			if (status == 429) x.getResponseHeaders().set("Retry-After", "1");
			if (status == 411 || status == 413) x.getResponseHeaders().set("Connection", "close"); // the body is not read
		} catch (IOException gone) {
			x.close(); // the client has gone, or was too slow
			return;
		} catch (Exception e) {
			e.printStackTrace();
			status = 500; // weir sends the items again
			value = Map.of("error", "the work failed");
		}
		var out = Json.write(value).getBytes(StandardCharsets.UTF_8);
		x.getResponseHeaders().set("Content-Type", "application/json");
		boolean head = x.getRequestMethod().equals("HEAD");
		x.sendResponseHeaders(status, head ? -1 : out.length);
		if (!head) x.getResponseBody().write(out);
		x.close();
	}

	static String env(String name, String otherwise) {
		return Objects.requireNonNullElse(System.getenv(name), otherwise);
	}

	public static void main(String[] args) throws IOException {
		System.setProperty("sun.net.httpserver.maxReqTime", env("READ_SECONDS", "10")); // for a whole request
		var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(env("PORT", "9000"))), 0);
		server.createContext("/", Endpoint::handle);
		server.setExecutor(new ThreadPoolExecutor(64, 64, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>())); // slow bodies hold a thread each
		server.start();
		System.out.println("listening on http://127.0.0.1:" + server.getAddress().getPort());
	}

	/** Reads and writes JSON: objects are maps, arrays lists, numbers doubles. */
	static class Json {
		private final String text;
		private int at;

		Json(String text) {
			this.text = text;
		}

		Object read() {
			var value = value(0);
			if (next() != 0) throw bad();
			return value;
		}

		private Object value(int depth) {
			if (depth > 256) throw new IllegalArgumentException("too deep");
			switch (next()) {
				case '"':
					return string();
				case '[': {
					var list = new ArrayList<Object>();
					at++;
					if (next() == ']') return end(list);
					do list.add(value(depth + 1)); while (more(']'));
					return list;
				}
				case '{': {
					var map = new HashMap<String, Object>();
					at++;
					if (next() == '}') return end(map);
					do {
						if (next() != '"') throw bad();
						var key = string();
						if (next() != ':') throw bad();
						at++;
						map.put(key, value(depth + 1));
					} while (more('}'));
					return map;
				}
			}
			int from = at;
			while (at < text.length() && "+-.0123456789abcdefghijklmnopqrstuvwxyzE".indexOf(text.charAt(at)) >= 0) at++;
			var word = text.substring(from, at);
			if (word.equals("null")) return null;
			if (word.equals("true") || word.equals("false")) return word.equals("true");
			if (!word.matches("-?(0|[1-9][0-9]*+)(\\.[0-9]++)?([eE][+-]?[0-9]++)?")) throw bad();
			return Double.valueOf(word);
		}

		private Object end(Object value) {
			at++;
			return value;
		}

		private boolean more(char end) {
			char c = next();
			if (c != ',' && c != end) throw bad();
			at++;
			return c == ',';
		}

		/** Returns the next character that is not space, or 0 at the end. */
		private char next() {
			while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
			return at < text.length() ? text.charAt(at) : 0;
		}

		private String string() {
			var out = new StringBuilder();
			while (++at < text.length()) {
				char c = text.charAt(at);
				if (c == '"') {
					at++;
					return out.toString();
				}
				if (c < ' ') throw bad();
				if (c == '\\') {
					int escape = ++at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at)) : -1;
					if (escape < 0) throw bad();
					c = "\"\\/\b\f\n\r\tu".charAt(escape);
					if (escape == 8) {
						if (at + 4 >= text.length() || !text.substring(at + 1, at + 5).matches("[0-9a-fA-F]{4}")) throw bad();
						c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
						at += 4;
					}
				}
				out.append(c);
			}
			throw bad();
		}

		private IllegalArgumentException bad() {
			return new IllegalArgumentException("unexpected text at character " + at);
		}

		static String write(Object value) {
			if (value instanceof Map<?, ?> map) {
				var all = new StringJoiner(",", "{", "}");
				map.forEach((k, v) -> all.add(write(k) + ":" + write(v)));
				return all.toString();
			}
			if (value instanceof List<?> list) {
				var all = new StringJoiner(",", "[", "]");
				list.forEach(v -> all.add(write(v)));
				return all.toString();
			}
			if (!(value instanceof String text)) return String.valueOf(value);
			var out = new StringBuilder("\"");
			for (char c : text.toCharArray()) {
				if (c < ' ' || c == '"' || c == '\\' || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) c));
				else out.append(c);
			}
			return out.append('"').toString();
		}
	}
}
