package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/weirhq/weir/internal/cli/command"
)

// place is where a backup is: a file, a stream, or an object in S3.
type place interface {
	fmt.Stringer
	// create writes a backup. Nothing is left behind under its name if write fails.
	create(ctx context.Context, write func(io.Writer) error) error
	// open reads a backup.
	open(ctx context.Context, read func(io.Reader) error) error
	// again reports whether it can be opened more than once.
	again() bool
}

// placeOf reads what the user wrote.
func placeOf(env *command.Env, word string) (place, error) {
	switch {
	case word == "-":
		return stream{env}, nil
	case strings.HasPrefix(word, "s3://"):
		return objectOf(env, word)
	}
	return file{name: word, path: env.Path(word)}, nil
}

type stream struct{ env *command.Env }

func (stream) String() string { return "-" }
func (stream) again() bool    { return false }

func (s stream) create(_ context.Context, write func(io.Writer) error) error {
	return write(s.env.Stdout)
}
func (s stream) open(_ context.Context, read func(io.Reader) error) error { return read(s.env.Stdin) }

type file struct{ name, path string }

func (f file) String() string { return f.name }
func (file) again() bool      { return true }

// create writes to a file beside it, which gets the name when it is whole and on the disk.
func (f file) create(_ context.Context, write func(io.Writer) error) (err error) {
	if command.Exists(f.path) {
		return command.BadUsage("choose another name, or remove it", "%s exists already", f.name)
	}
	out, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*.part")
	if err != nil {
		return command.BadUsage("check the path", "%v", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close(), os.Remove(out.Name()))
		}
	}()
	if err = cmp.Or(write(out), out.Sync()); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), f.path)
}

func (f file) open(_ context.Context, read func(io.Reader) error) error {
	in, err := os.Open(f.path)
	if err != nil {
		return command.BadUsage("check the spelling; the path is taken from the working directory", "%v", err)
	}
	return errors.Join(read(in), in.Close())
}

// object is a backup in S3.
type object struct {
	url, bucket, key string
	client           *minio.Client
}

func (o object) String() string { return o.url }
func (object) again() bool      { return true }

// amazon is the server that is asked unless another one is named.
const amazon = "https://s3.amazonaws.com"

// objectOf reads s3://BUCKET/KEY, and the variables that other programs for S3 read.
func objectOf(env *command.Env, word string) (object, error) {
	o := object{url: word}
	o.bucket, o.key, _ = strings.Cut(strings.TrimPrefix(word, "s3://"), "/")
	if o.bucket == "" || o.key == "" || strings.HasSuffix(o.key, "/") {
		return o, command.BadUsage("write it as s3://BUCKET/KEY", "%q does not name an object", word)
	}
	variable, address := "AWS_ENDPOINT_URL_S3", env.Getenv("AWS_ENDPOINT_URL_S3")
	if address == "" {
		variable, address = "AWS_ENDPOINT_URL", cmp.Or(env.Getenv("AWS_ENDPOINT_URL"), amazon)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return o, command.BadUsage("write it as https://host:port", "%s %q is not the URL of a server", variable, address)
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.Static{Value: credentials.Value{
			AccessKeyID: env.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: env.Getenv("AWS_SECRET_ACCESS_KEY"),
			SessionToken: env.Getenv("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4,
		}},
		&credentials.FileAWSCredentials{},
		&credentials.IAM{},
	})
	if env.Getenv("AWS_ACCESS_KEY_ID") == "" {
		creds = credentials.NewChainCredentials([]credentials.Provider{&credentials.FileAWSCredentials{}, &credentials.IAM{}})
	}
	o.client, err = minio.New(u.Host, &minio.Options{
		Creds: creds, Secure: u.Scheme == "https", Region: cmp.Or(env.Getenv("AWS_REGION"), env.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return o, command.BadUsage("write it as https://host:port", "%s %q: %v", variable, address, err)
	}
	return o, nil
}

// partSize is of the parts of an upload: 10,000 of them, the most that S3 takes, are 320 GB.
const partSize = 32 << 20

// create uploads in parts. An upload that fails is given up, and no object is made.
func (o object) create(ctx context.Context, write func(io.Writer) error) error {
	if _, err := o.client.StatObject(ctx, o.bucket, o.key, minio.StatObjectOptions{}); err == nil {
		return command.BadUsage("choose another key, or remove it", "%s exists already", o)
	} else if minio.ToErrorResponse(err).Code != minio.NoSuchKey {
		return o.failed(err)
	}
	from, to := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(to)
		_ = to.CloseWithError(err) // never fails
		written <- err
	}()
	_, err := o.client.PutObject(ctx, o.bucket, o.key, from, -1, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize,
	})
	_ = from.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // ends the writer if the upload ended first
	if failed := <-written; failed != nil && (err == nil || errors.Is(err, failed)) {
		return failed
	}
	return o.failed(err)
}

func (o object) open(ctx context.Context, read func(io.Reader) error) error {
	in, err := o.client.GetObject(ctx, o.bucket, o.key, minio.GetObjectOptions{})
	if err != nil {
		return o.failed(err)
	}
	defer in.Close()
	if _, err := in.Stat(); err != nil {
		return o.failed(err)
	}
	return read(in)
}

// failed says what the answer of the server means for the user.
func (o object) failed(err error) error {
	if err == nil {
		return nil
	}
	switch e := minio.ToErrorResponse(err); e.Code {
	case minio.NoSuchKey, minio.NoSuchBucket:
		return command.BadUsage("check bucket and key", "%s: %s", o, e.Message)
	case minio.AccessDenied, "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return command.BadUsage("check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what the key may do", "%s: %s", o, e.Message)
	case "":
		return command.Fail(command.ExitUnreachable, fmt.Sprintf("%s: %v", o, err), "check AWS_ENDPOINT_URL, and that the server is up")
	}
	return fmt.Errorf("%s: %w", o, err)
}
