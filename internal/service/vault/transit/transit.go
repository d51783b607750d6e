// Package transit decrypts the keys of a vault with a key that stays in OpenBao or HashiCorp Vault: their transit secrets
// engine encrypts and decrypts over HTTP, and many key-management services can be its seal. weir asks when it starts, and
// keeps the decrypted keys in memory.
package transit

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	patience = 10 * time.Second // for an answer
	mostBody = 64 << 10
)

// Options say where the service is.
type Options struct {
	URL       string // of the operation, such as https://bao.example.com:8200/v1/transit/decrypt/weir
	TokenFile string // with the token, read for each request: an agent may replace it
	CA        string // file with the certificates to trust instead of the system's; empty: the system's
	Namespace string // empty: none
}

// Service decrypts keys; it implements vault.Unwrapper.
type Service struct {
	opts   Options
	client *http.Client
}

// New returns the service. It reads the CA, and asks nothing yet.
func New(o Options) (*Service, error) {
	t := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	if o.CA != "" {
		raw, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("%s has no certificate", o.CA)
		}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token goes nowhere else
	return &Service{o, &http.Client{Transport: t, Timeout: patience, CheckRedirect: stay}}, nil
}

// answer is a response.
type answer struct {
	Data struct {
		Plaintext string `json:"plaintext"`
	} `json:"data"`
	Errors []string `json:"errors"`
}

// Unwrap decrypts a key, such as vault:v1:….
func (s *Service) Unwrap(ctx context.Context, wrapped string) ([]byte, error) {
	token, err := os.ReadFile(s.opts.TokenFile)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]string{"ciphertext": wrapped})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opts.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Vault-Request", "true")
	req.Header.Set("X-Vault-Token", strings.TrimSpace(string(token)))
	if s.opts.Namespace != "" {
		req.Header.Set("X-Vault-Namespace", s.opts.Namespace)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		return nil, err
	}
	return read(s.opts.URL, resp.StatusCode, raw)
}

// read takes the key from a response. Errors do not repeat it.
func read(url string, status int, raw []byte) ([]byte, error) {
	var a answer
	err := json.Unmarshal(raw, &a)
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d: %s", url, status, strings.Join(a.Errors, "; "))
	}
	if err != nil || a.Data.Plaintext == "" {
		return nil, fmt.Errorf("%s: the response is not that of transit/decrypt", url)
	}
	key, err := base64.StdEncoding.DecodeString(a.Data.Plaintext)
	if err != nil {
		return nil, errors.New("the decrypted key is not in base64")
	}
	return key, nil
}
