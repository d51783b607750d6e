"""An HTTP action of weir with the standard library of Python 3.9 or later.

    WEIR_SECRET=whsec_... PORT=9000 STORE=done.db python3 endpoint.py

Put your own work into award, and more functions like it into ACTIONS.
"""
import base64, hashlib, hmac, json, os, secrets, sqlite3, threading, time, traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEIR_SECRET"]  # of the action in weir: whsec_ and base64
MAX_BODY = 8 << 20  # bytes of a call
MAX_CALLS = int(os.environ.get("MAX_CALLS", "8"))  # at a time; more get 429
READ_SECONDS = float(os.environ.get("READ_SECONDS", "10"))  # for the whole body of a call


def award(item_id, data, dry_run):
    """The work for one item. What it returns is kept, and returned again for the same key."""
    if not isinstance(data, dict):
        return {"status": "failed", "code": "bad_data", "message": "data must be an object"}
    if data.get("closed") is True:
        return {"status": "failed", "code": "closed", "message": "the account is closed"}
    if data.get("busy") is True:
        return {"status": "retry", "code": "busy", "retry_after": "30s"}
    return {"status": "done", "output": {"reward_id": "dry-run" if dry_run else "r-" + secrets.token_hex(8)}}


ACTIONS = {"/award": award}  # path of the action's URL: function

store = sqlite3.connect(os.environ.get("STORE", ":memory:"), check_same_thread=False)
store.execute("CREATE TABLE IF NOT EXISTS done (key TEXT PRIMARY KEY, result TEXT NOT NULL)")
one_at_a_time = threading.Lock()
calls = threading.BoundedSemaphore(MAX_CALLS) if MAX_CALLS > 0 else None


def results(work, call):
    """Does each item once. Your own work belongs into the transaction that keeps its result."""
    with one_at_a_time, store:  # the transaction: all results of a call are kept, or none
        for item in call["items"]:
            path = call["path"] + " " + item["idempotency_key"]
            row = store.execute("SELECT result FROM done WHERE key = ?", (path,)).fetchone()
            result = json.loads(row[0]) if row else work(item["id"], item.get("data"), call.get("dry_run") is True)
            if not row and result["status"] != "retry" and call.get("dry_run") is not True:
                store.execute("INSERT INTO done VALUES (?, ?)", (path, json.dumps(result)))
            yield {"id": item["id"], **result}


def verify(headers, body):
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    id, at, signed = (headers.get(name) or "" for name in ("webhook-id", "webhook-timestamp", "webhook-signature"))
    if not (at.isascii() and at.isdigit() and len(at) < 12) or abs(time.time() - int(at)) > 300:
        return False  # missing, not a number, or more than five minutes away
    mac = hmac.new(key, f"{id}.{at}.".encode("utf-8", "replace") + body, hashlib.sha256)
    want = b"v1," + base64.b64encode(mac.digest())
    return any(hmac.compare_digest(want, s.encode("utf-8", "replace")) for s in signed.split(" "))


def parse(body):
    """Returns a call, or raises ValueError."""
    try:
        call = json.loads(body.decode("utf-8"))
    except RecursionError:
        raise ValueError("too deep") from None
    items = call.get("items") if isinstance(call, dict) else None
    text = lambda value: isinstance(value, str) and len(value) <= 1024
    if not isinstance(items, list) or not all(
            isinstance(i, dict) and text(i.get("id")) and text(i.get("idempotency_key")) and i["idempotency_key"] for i in items):
        raise ValueError("items must be objects with id and idempotency_key")
    return call


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = READ_SECONDS  # for the head of a request

    def read(self, size):
        """Returns the body, or less when it was cut off or took too long."""
        body, end = b"", time.monotonic() + READ_SECONDS
        while len(body) < size and (left := end - time.monotonic()) > 0:
            self.connection.settimeout(left)
            part = self.rfile.read1(min(size - len(body), 65536))
            if not part:
                break
            body += part
        self.connection.settimeout(READ_SECONDS)
        return body

    def do_POST(self):
        work, length = ACTIONS.get(self.path), self.headers.get("Content-Length", "")
        if work is None:
            return self.answer(404, "no action has this path", close=True)
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            return self.answer(411, "Content-Length is required", close=True)
        if len(length) > 9 or int(length) > MAX_BODY:
            return self.answer(413, "the body is too large", close=True)
        body = self.read(int(length))
        if len(body) < int(length):
            return self.answer(400, "the body was cut off", close=True)
        if not verify(self.headers, body):
            return self.answer(401, "the signature is wrong, or too old")
        if calls is None or not calls.acquire(blocking=False):
            return self.answer(429, "too many calls", ("Retry-After", "1"))
        try:
            call = parse(body)
            self.answer(200, {"results": list(results(work, {**call, "path": self.path}))})
        except ValueError as problem:
            self.answer(400, str(problem))
        except Exception:
            self.log_error("%s", traceback.format_exc())
            self.answer(500, "the work failed")  # nothing was kept: weir sends the items again
        finally:
            calls.release()

    def do_GET(self):
        if self.path in ACTIONS:
            return self.answer(405, "use POST", ("Allow", "POST"), close=True)
        self.answer(404, "no action has this path", close=True)

    do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET

    def answer(self, status, value, *headers, close=False):
        body = json.dumps(value if status == 200 else {"error": value}).encode()
        self.send_response(status)
        for name, text in (*headers, ("Content-Type", "application/json"), ("Content-Length", str(len(body)))):
            self.send_header(name, text)
        if close:  # what is left of the request is not read
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Endpoint)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
