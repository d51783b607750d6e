package testenv

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// ObjectStoreServer is an S3 server (versitygw) that keeps objects as files, with one empty bucket.
type ObjectStoreServer struct {
	process // without TLS
	// Key, Secret, Region and Bucket say how to reach the bucket.
	Key, Secret, Region, Bucket string
	// Client acts on the server as the owner of the bucket.
	Client *minio.Client
}

// ObjectStore starts an S3 server. The program is built from its Go module.
func ObjectStore(t testing.TB) *ObjectStoreServer {
	t.Helper()
	program := objectStoreProgram(t)
	s := &ObjectStoreServer{Key: "weir", Secret: "quiet-river", Region: "eu-central-1", Bucket: "files"}
	s.process = process{t: t, dir: t.TempDir(), ending: syscall.SIGKILL, ping: func() error { return s.alive() }}
	data, meta := filepath.Join(s.dir, "data"), filepath.Join(s.dir, "meta")
	for _, dir := range []string{data, meta} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.start(func(string) {
		s.command = func() *exec.Cmd {
			cmd := exec.CommandContext(lasting(t), program, "--port", s.Addr, "--access", s.Key, "--secret", s.Secret,
				"--region", s.Region, "--quiet",
				"posix", "--sidecar", meta, data) // not every file system of a test machine has extended attributes
			endWithParent(cmd)
			return cmd
		}
	})
	c, err := minio.New(s.Addr, &minio.Options{Creds: credentials.NewStaticV4(s.Key, s.Secret, ""), Region: s.Region})
	if err != nil {
		t.Fatal(err)
	}
	s.Client = c
	if err := c.MakeBucket(t.Context(), s.Bucket, minio.MakeBucketOptions{Region: s.Region}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Put writes an object.
func (s *ObjectStoreServer) Put(name string, content []byte) {
	s.t.Helper()
	_, err := s.Client.PutObject(s.t.Context(), s.Bucket, name, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{})
	if err != nil {
		s.t.Fatalf("put %s: %v", name, err)
	}
}

// Remove deletes an object.
func (s *ObjectStoreServer) Remove(name string) {
	s.t.Helper()
	if err := s.Client.RemoveObject(s.t.Context(), s.Bucket, name, minio.RemoveObjectOptions{}); err != nil {
		s.t.Fatalf("remove %s: %v", name, err)
	}
}

// alive asks without a signature, which the server refuses in its own words.
func (s *ObjectStoreServer) alive() error {
	ctx, cancel := context.WithTimeout(lasting(s.t), answerIn)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// objectStoreProgram returns the path of the program, which the go command builds if it is not in its cache.
func objectStoreProgram(t testing.TB) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	mod := filepath.Join(filepath.Dir(file), "../../../tools/versitygw/go.mod")
	cmd := exec.CommandContext(lasting(t), "go", "tool", "-modfile="+mod, "-n", "versitygw")
	cmd.Dir, cmd.Env = filepath.Dir(mod), append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build versitygw: %v\n%s", err, said.Bytes())
	}
	return strings.TrimSpace(string(out))
}
