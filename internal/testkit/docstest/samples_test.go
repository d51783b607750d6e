package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// hostile calls the function verify of a sample with what strangers send. Each
// program ends with an error if one of them is let in, or throws.
var hostile = map[string]struct{ interpreter, file, program string }{
	"python": {"python3", "sample.py", `
import sys
secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
def sign(id, at, body):
    return "v1," + base64.b64encode(hmac.new(b"0123456789abcdef01234567", f"{id}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
now, body = str(int(time.time())), b"{}"
good = {"webhook-id": "t", "webhook-timestamp": now, "webhook-signature": sign("t", now, body)}
if not verify(secret, good, body): sys.exit("a good call is refused")
values = [None, "", "NaN", "nan", "inf", "-1", "1e9", "1_7", "9" * 5000, "\u0661", "\u00b2", "\ud800", "\u00e9" * 47, "v1,", "v1," + "a" * 44, str(int(now) - 301), str(int(now) + 301)]
for name in good:
    for value in values:
        if verify(secret, {**good, name: value}, body): sys.exit(f"{name}: {value!r} is let in")
    if verify(secret, {k: v for k, v in good.items() if k != name}, body): sys.exit(f"a call without {name} is let in")
for at in ("NaN", "nan", "inf", "", "1e9"):
    if verify(secret, {"webhook-id": "t", "webhook-timestamp": at, "webhook-signature": sign("t", at, body)}, body): sys.exit(f"signed at {at!r} is let in")
if verify(secret, good, b"") or verify(secret, {}, b""): sys.exit("another body is let in")
`},
	"js": {"node", "sample.mjs", `
const key = Buffer.from("0123456789abcdef01234567"), secret = "whsec_" + key.toString("base64");
const sign = (id, at, b) => "v1," + createHmac("sha256", key).update(id + "." + at + ".").update(b).digest("base64");
const now = String(Math.floor(Date.now() / 1000)), body = Buffer.from("{}");
const good = { "webhook-id": "t", "webhook-timestamp": now, "webhook-signature": sign("t", now, body) };
const want = (is, what) => { if (!is) { console.error(what); process.exit(1); } };
want(verify(secret, good, body), "a good call is refused");
const values = [undefined, null, "", "NaN", "Infinity", "-1", "1e9", "0x10", "9".repeat(5000), "\u0661", "\u00e9".repeat(47), "\u00e9".repeat(23), "\ud800", "v1,", "v1," + "a".repeat(44), String(+now - 301), String(+now + 301), ["a"], {}];
for (const name of Object.keys(good)) for (const value of values) want(!verify(secret, { ...good, [name]: value }, body), name + ": " + value + " is let in");
for (const at of ["NaN", "Infinity", "", "1e9"]) want(!verify(secret, { "webhook-id": "t", "webhook-timestamp": at, "webhook-signature": sign("t", at, body) }, body), "signed at " + at + " is let in");
want(!verify(secret, good, Buffer.alloc(0)) && !verify(secret, {}, Buffer.alloc(0)), "another body is let in");
`},
}

// unguarded are ways to read a header that throw, or let NaN pass, when a stranger leaves it out.
var unguarded = map[string]*regexp.Regexp{
	"python": regexp.MustCompile(`headers\["|compare_digest\(want, s\)`),
	"js":     regexp.MustCompile(`headers\["[a-z-]+"\]\.|s\.length === want\.length && timingSafeEqual\(Buffer\.from\(s\)`),
}

// TestSamplesRefuseStrangers holds the signature checks of the page against bad
// calls: by their text, and by running them where their interpreter is installed.
func TestSamplesRefuseStrangers(t *testing.T) {
	page := Read(t, "docs/http-actions.md")
	for language, h := range hostile {
		t.Run(language, func(t *testing.T) {
			found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```").FindStringSubmatch(page)
			if found == nil {
				t.Fatalf("the page has no sample in %s", language)
			}
			if bad := unguarded[language].FindString(found[1]); bad != "" {
				t.Errorf("the sample reads a header unguarded: %s", bad)
			}
			program, err := exec.LookPath(h.interpreter)
			if err != nil {
				t.Logf("not run: %v", err)
				return
			}
			file := filepath.Join(t.TempDir(), h.file)
			if err := os.WriteFile(file, []byte(found[1]+h.program), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), program, file).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
