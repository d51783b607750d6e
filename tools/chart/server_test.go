package chart

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const adminKey = "0123456789abcdef0123456789abcdef"

// machine is a directory that stands for the file system of a pod.
type machine struct {
	root, program string
	args, env     []string
}

// newMachine writes the files of a rendered pod, with the modes that a kubelet gives them, and moves paths there.
func newMachine(t *testing.T, r *rendered, program string) *machine {
	t.Helper()
	m := &machine{root: t.TempDir(), program: program}
	pod := object(r.workload(t).at("spec", "template", "spec").(map[string]any))
	for _, mount := range pod.list("containers", 0, "volumeMounts") {
		dir := filepath.Join(m.root, mount.text("mountPath"))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if mount.at("readOnly") != true {
			if err := os.Chmod(dir, 0o775|os.ModeSetgid); err != nil { // as fsGroup leaves a volume
				t.Fatal(err)
			}
		}
	}
	m.file(t, "/etc/weir/config/weir.yaml", strings.ReplaceAll(r.only(t, "ConfigMap").text("data", "weir.yaml"), "/etc/weir/", m.root+"/etc/weir/"), 0o444)
	values := map[string]string{}
	for _, e := range pod.list("containers", 0, "env") {
		name, value := e.text("name"), e.text("value")
		if from := e.text("valueFrom", "secretKeyRef", "key"); from != "" {
			value = "user-of-the-secret"
		}
		for other, v := range values {
			value = strings.ReplaceAll(value, "$("+other+")", v)
		}
		values[name] = value
		if strings.HasPrefix(value, "/") {
			m.secret(t, name, value)
			value = m.root + value
		}
		m.env = append(m.env, name+"="+value)
	}
	for _, path := range regexp.MustCompile(`/etc/weir/secrets/[^\s,}"]+`).FindAllString(r.only(t, "ConfigMap").text("data", "weir.yaml"), -1) {
		m.file(t, path, "whsec_"+strings.Repeat("A", 32), 0o440)
	}
	args, _ := pod.at("containers", 0, "args").([]any)
	for _, a := range args {
		s := a.(string)
		if strings.HasPrefix(s, "/") {
			s = m.root + s
		}
		m.args = append(m.args, s)
	}
	return m
}

// secret writes the file that a variable names.
func (m *machine) secret(t *testing.T, name, path string) {
	t.Helper()
	content, ok := map[string]string{
		"WEIR_ADMIN_KEY_FILE": adminKey, "WEIR_VAULT_KEY_FILE": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
		"WEIR_REDIS_PASSWORD_FILE": "word", "WEIR_REDIS_SENTINEL_PASSWORD_FILE": "word", "WEIR_TLS_CERT": "certificate",
		"WEIR_TLS_KEY": "key", "WEIR_REDIS_TLS_CA": "ca", "WEIR_REDIS_TLS_CERT": "certificate", "WEIR_REDIS_TLS_KEY": "key",
	}[name]
	if ok {
		m.file(t, path, content, 0o440)
	}
}

func (m *machine) file(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(m.root+path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// set replaces variables.
func (m *machine) set(vars ...string) {
	m.env = append(m.env, vars...) // the last one counts
}

func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.program, args...)
	cmd.Dir, cmd.Env = m.root, append([]string{"HOME=" + m.root}, m.env...)
	return cmd
}

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "weir")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", program, "./cmd/weir")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestTheProgramFitsTheChart builds the program once for what follows.
func TestTheProgramFitsTheChart(t *testing.T) {
	program := build(t)
	t.Run("it takes the settings", func(t *testing.T) { takesTheSettings(t, program) })
	t.Run("it runs as the pod says", func(t *testing.T) { runsAsThePodSays(t, program) })
}

// takesTheSettings has the real program read what is rendered, for all values that are accepted: it checks all
// settings, and that it may listen to other machines.
func takesTheSettings(t *testing.T, program string) {
	each(t, func(t *testing.T, r *rendered, pod object) {
		m := newMachine(t, r, program)
		out, err := m.command(t.Context(), "config", "print", "--config", m.root+"/etc/weir/config/weir.yaml", "-o", "json").Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
		}
		var all []struct{ Key, Value, Text, Origin string }
		if err := json.Unmarshal(out, &all); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		read := map[string]bool{}
		for _, v := range all {
			read[strings.TrimPrefix(v.Origin, "environment ")] = true
		}
		for name := range env(pod) {
			if strings.HasPrefix(name, "WEIR_") && !read[name] && !strings.Contains(string(out), name) {
				t.Errorf("the program does not read %s\n%s", name, out)
			}
		}
	})
}

// runsAsThePodSays starts the program with the arguments, variables and files of a rendered pod, on free ports of this
// machine, asks what the probes, Prometheus and KEDA ask, and stops it.
func runsAsThePodSays(t *testing.T, program string) {
	r, err := render(t, read(t, "testdata/values/embedded.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, r, program)
	m.set("WEIR_LISTEN=127.0.0.1:0", "WEIR_ADMIN_LISTEN=localhost:0") // the same text would be one address
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := m.command(ctx, m.args...)
	url, operators := started(t, cmd)
	pod := r.workload(t).at("spec", "template").(map[string]any)
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		path := object(pod).text("spec", "containers", 0, probe, "httpGet", "path")
		answered(ctx, t, url+path)
	}
	monitoring := m.key(ctx, t, operators)
	keda, err := render(t, read(t, "testdata/values/redis-keda.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	trigger := object(keda.only(t, "ScaledObject").at("spec", "triggers", 0, "metadata").(map[string]any))
	_, path, _ := strings.Cut(trigger.text("url"), ":8080")
	code, body := ask(ctx, t, url+path, monitoring)
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err != nil || code != http.StatusOK {
		t.Errorf("%s: %d %s", path, code, body)
	}
	if n := string(answer[trigger.text("valueLocation")]); !regexp.MustCompile(`^[0-9]+$`).MatchString(n) {
		t.Errorf("%s of %s is %q, want a number", trigger.text("valueLocation"), body, n)
	}
	scrape := object(keda.only(t, "ServiceMonitor")).text("spec", "endpoints", 0, "path")
	if code, body := ask(ctx, t, url+scrape, monitoring); code != http.StatusOK || !bytes.Contains(body, []byte("weir_build_info")) {
		t.Errorf("%s: %d %.200s", scrape, code, body)
	}
	if code, _ := ask(ctx, t, url+scrape, ""); code != http.StatusUnauthorized {
		t.Errorf("%s without a key: %d", scrape, code)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopped by a signal: %v", err)
	}
	if st, err := os.Stat(m.root + "/var/lib/weir/store"); err != nil || !st.IsDir() {
		t.Errorf("the store is not in the volume: %v", err)
	}
	again := m.command(ctx, m.args...)
	url, _ = started(t, again)
	answered(ctx, t, url+"/readyz") // with the key that it made in the volume
	if err := again.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := again.Wait(); err != nil {
		t.Errorf("stopped again: %v", err)
	}
}

// key makes the key for Prometheus and KEDA with the command of the guide, and returns it.
func (m *machine) key(ctx context.Context, t *testing.T, operators string) string {
	t.Helper()
	guide := regexp.MustCompile(`(?m)^weir (keys create .*) --server \S+$`).FindStringSubmatch(read(t, "../../docs/kubernetes.md"))
	if guide == nil {
		t.Fatal("the guide makes no key")
	}
	cmd := m.command(ctx, append(strings.Fields(guide[1]), "--server", operators, "-o", "json")...)
	cmd.Env = append(cmd.Env, "WEIR_API_KEY="+adminKey)
	out, err := cmd.Output()
	var made struct{ Key string }
	if json.Unmarshal(out, &made) != nil || made.Key == "" {
		t.Fatalf("%s: %v %s", guide[1], err, out)
	}
	return made.Key
}

// started starts the program and returns the URLs that its log names: of the API, and of operators.
func started(t *testing.T, cmd *exec.Cmd) (url, operators string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // ended before, as a rule
	lines := bufio.NewReader(stderr)
	var log strings.Builder
	for {
		line, err := lines.ReadString('\n')
		log.WriteString(line)
		var entry struct{ Msg, URL, Operators string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // Wait closes it
			return entry.URL, entry.Operators
		}
		if err != nil {
			t.Fatalf("the program has ended: %s", log.String())
		}
	}
}

// answered asks as a probe does, until the answer is 200.
func answered(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		code, body := ask(ctx, t, url, "")
		if code == http.StatusOK {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: %d %s", url, code, body)
		}
	}
}

func ask(ctx context.Context, t *testing.T, url, key string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}
