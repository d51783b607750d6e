package docstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// curl makes requests as the program of that name does, as far as the pages use it.
type curl struct {
	ctx   context.Context
	files map[string]string
	dir   string            // where files are written to with -o
	hosts map[string]string // where the hosts of the pages really are
}

func (c *curl) run(args []string) (string, error) {
	method, where, body, into := "", "", "", ""
	header, head := http.Header{}, false
	for len(args) > 0 {
		name := args[0]
		args = args[1:]
		switch name {
		case "-s", "-N", "-sN":
			continue
		case "-sI":
			head = true
			continue
		case "-X", "-H", "-d", "--data-binary", "-o":
		default:
			where = name
			continue
		}
		if len(args) == 0 {
			return "", errors.New(name + " needs a value")
		}
		value := args[0]
		args = args[1:]
		switch name {
		case "-X":
			method = value
		case "-H":
			k, v, _ := strings.Cut(value, ":")
			header.Add(k, strings.TrimSpace(v))
		case "-o":
			into = value
		default:
			body = value
		}
	}
	if file, ok := strings.CutPrefix(body, "@"); ok {
		body = c.files[file]
	}
	switch {
	case head:
		method = http.MethodHead
	case method == "" && body != "":
		method = http.MethodPost
	}
	out, err := c.request(method, where, body, header, head)
	if err == nil && into != "" {
		return "", os.WriteFile(filepath.Join(c.dir, into), []byte(out), 0o600)
	}
	return out, err
}

func (c *curl) request(method, where, body string, header http.Header, head bool) (string, error) {
	for name, real := range c.hosts {
		where = strings.Replace(where, name, real, 1)
		body = strings.ReplaceAll(body, name, real)
	}
	if !strings.Contains(where, "://") {
		where = "http://" + where
	}
	req, err := http.NewRequestWithContext(c.ctx, method, where, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	text := string(raw)
	if head {
		text = fmt.Sprintf("HTTP/1.1 %s\n", resp.Status)
		for _, h := range []string{"Upload-Offset", "Upload-Length"} {
			if v := resp.Header.Get(h); v != "" {
				text += h + ": " + v + "\n"
			}
		}
	}
	for name, real := range c.hosts {
		text = strings.ReplaceAll(text, real, name)
	}
	return text, err
}
