package backup

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// variables returns an environment that leads to an object store.
func variables(s *testenv.ObjectStoreServer, change ...string) func(string) string {
	set := map[string]string{"AWS_ENDPOINT_URL": "http://" + s.Addr, "AWS_ACCESS_KEY_ID": s.Key, "AWS_SECRET_ACCESS_KEY": s.Secret, "AWS_REGION": s.Region}
	for i := 0; i < len(change); i += 2 {
		set[change[i]] = change[i+1]
	}
	return func(name string) string { return set[name] }
}

func TestABackupGoesToAnObjectStoreAndBack(t *testing.T) {
	s := testenv.ObjectStore(t)
	env := &command.Env{Getenv: variables(s)}
	at, err := placeOf(env, "s3://"+s.Bucket+"/weekly/monday.backup")
	if err != nil {
		t.Fatal(err)
	}
	const size = partSize + partSize/2 // more than one part
	write := func(w io.Writer) error {
		_, err := io.CopyN(w, rand.NewChaCha8([32]byte{1}), size)
		return err
	}
	if err := at.create(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	err = at.open(t.Context(), func(r io.Reader) error {
		want := rand.NewChaCha8([32]byte{1})
		a, b := make([]byte, 1<<20), make([]byte, 1<<20)
		for left := size; left > 0; left -= len(a) {
			if _, err := io.ReadFull(r, a); err != nil {
				return err
			}
			_, _ = want.Read(b) // never fails
			if string(a) != string(b) {
				return fmt.Errorf("another content, %d bytes before the end", left)
			}
		}
		if n, err := r.Read(a); n > 0 || !errors.Is(err, io.EOF) {
			return fmt.Errorf("%d bytes more, %w", n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := at.create(t.Context(), write); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("create again = %v, want it to refuse", err)
	}
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	s := testenv.ObjectStore(t)
	dir := t.TempDir()
	env := &command.Env{Getenv: variables(s), Dir: dir}
	broken := errors.New("broken")
	for _, word := range []string{"s3://" + s.Bucket + "/x.backup", "x.backup"} {
		at, err := placeOf(env, word)
		if err != nil {
			t.Fatal(err)
		}
		err = at.create(t.Context(), func(w io.Writer) error {
			_, err := io.CopyN(w, rand.NewChaCha8([32]byte{1}), partSize+5)
			return errors.Join(err, broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v, want the error of the writer", word, err)
		}
	}
	for o := range s.Client.ListObjects(t.Context(), s.Bucket, minio.ListObjectsOptions{Recursive: true}) {
		t.Errorf("the object %s is left, %v", o.Key, o.Err)
	}
	for o := range s.Client.ListIncompleteUploads(t.Context(), s.Bucket, "", true) {
		t.Errorf("an upload of %s is left, %v", o.Key, o.Err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

func TestObjectsThatCannotBeUsed(t *testing.T) {
	s := testenv.ObjectStore(t)
	nothing := func(io.Writer) error { return nil }
	for _, tt := range []struct {
		name, word string
		env        func(string) string
		want       string // in the error of open and create
	}{
		{"no such bucket", "s3://other/x", variables(s), "s3://other/x: "},
		{"a wrong key", "s3://" + s.Bucket + "/x", variables(s, "AWS_SECRET_ACCESS_KEY", "wrong"), "s3://" + s.Bucket + "/x: "},
		{"no server", "s3://" + s.Bucket + "/x", variables(s, "AWS_ENDPOINT_URL", "http://127.0.0.1:1"), "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, err := placeOf(&command.Env{Getenv: tt.env}, tt.word)
			if err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{
				"open": at.open(t.Context(), func(io.Reader) error { return nil }), "create": at.create(t.Context(), nothing),
			} {
				f, ok := errors.AsType[*command.Failure](err)
				if !ok || !strings.Contains(f.What, tt.want) || f.Fix == "" {
					t.Errorf("%s = %v, want a failure with %q and a fix", what, err, tt.want)
				}
			}
		})
	}
	for word, env := range map[string]func(string) string{
		"s3://": variables(s), "s3://bucket": variables(s), "s3://bucket/": variables(s), "s3://b/k": variables(s, "AWS_ENDPOINT_URL", "s3.example.com"),
	} {
		if _, err := placeOf(&command.Env{Getenv: env}, word); err == nil {
			t.Errorf("%s is taken", word)
		}
	}
}
