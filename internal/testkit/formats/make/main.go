// Command make runs a weir of any version, gives it work that has ended, that is paused and that is running, kills it, and
// packs its data directory. The file contents.json in the archive tells what is in the store.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: make WEIR ARCHIVE.tar.gz")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(weir, archive string) (err error) {
	dir, err := os.MkdirTemp("", "weir-format-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e := &endpoint{}
	web := httptest.NewServer(e)
	defer web.Close()
	s, err := start(weir, dir)
	if err != nil {
		return err
	}
	s.endpoint = web.URL
	contents, err := s.fill(e)
	err = errors.Join(err, s.kill())
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s.log.String())
	}
	raw, err := json.MarshalIndent(contents, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "contents.json"), append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return pack(archive, dir)
}

// endpoint does what it is asked: items whose id ends in 7 fail. While it is slow, a call takes a while.
type endpoint struct {
	slow  atomic.Bool
	calls atomic.Int64
}

// ServeHTTP answers a call.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if e.slow.Load() {
		time.Sleep(100 * time.Millisecond)
	}
	failed := []map[string]string{}
	for _, i := range call.Items {
		if strings.HasSuffix(i.ID, "7") {
			failed = append(failed, map[string]string{"id": i.ID, "status": "failed", "code": "closed", "message": "the account is closed"})
		}
	}
	e.calls.Add(1)
	_ = json.NewEncoder(w).Encode(map[string]any{"results": failed, "default": "done"}) // else weir calls again
}

// weirServer is a running weir serve.
type weirServer struct {
	cmd           *exec.Cmd
	log           bytes.Buffer
	url, endpoint string
}

func start(weir, dir string) (*weirServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s := &weirServer{url: "http://" + address}
	s.cmd = exec.Command(weir, "serve", "--data", dir, "--listen", address, "--partitions", "4")
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.Env = append(os.Environ(), "WEIR_EGRESS_ALLOW=loopback")
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.until(func() (bool, error) { return s.call("GET", "/readyz", nil, nil) == nil, nil })
}

func (s *weirServer) kill() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
	return err
}

// until waits for a minute at most.
func (s *weirServer) until(holds func() (bool, error)) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return errors.New("it takes too long\n" + s.log.String())
		}
	}
}

func (s *weirServer) call(method, path string, body, out any) error {
	raw := []byte(nil)
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(method, s.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if name, ok := nameOf(body); ok && method == "POST" {
		req.Header.Set("Idempotency-Key", "make "+name)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err = io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d: %s", method, path, resp.StatusCode, raw)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	return err
}

// pack writes a directory to an archive, without what fills the disk.
func pack(archive, dir string) (err error) {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(strings.ToLower(d.Name()), "ballast") || d.Name() == "LOCK" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(raw))}); err != nil {
			return err
		}
		_, err = t.Write(raw)
		return err
	})
	return errors.Join(err, t.Close(), zip.Close())
}

// nameOf returns the name in a body, which makes a repeat of the request harmless.
func nameOf(body any) (string, bool) {
	o, _ := body.(object)
	name, ok := o["name"].(string)
	return name, ok
}
