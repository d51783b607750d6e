package egress

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// authority signs certificates of one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.key = newKey(t)
	spec := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, spec, spec, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue returns a certificate for loopback and its key as PEM; change may spoil it.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) (cert, key []byte) {
	t.Helper()
	spec := &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	change(spec)
	own := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, spec, a.cert, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func asIs(*x509.Certificate) {}

func askForCertificate(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }

func TestPeersThatCannotShowWhoTheyAreGetNoRequest(t *testing.T) {
	ours, foreign := newAuthority(t), newAuthority(t)
	caller, callerKey := ours.issue(t, asIs)
	for _, tt := range []struct {
		name     string
		signedBy *authority
		spoil    func(*x509.Certificate)
		server   func(*tls.Config)
		ca       []byte
		cert     bool
		insecure bool
		want     string // part of the error; nothing if the call goes through
	}{
		{name: "known authority", signedBy: ours, ca: ours.pem()},
		{name: "wrong host", signedBy: ours, ca: ours.pem(), want: "not 127.0.0.1", spoil: func(c *x509.Certificate) {
			c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(192, 0, 2, 1)}, nil
		}},
		{name: "expired", signedBy: ours, ca: ours.pem(), want: "expired", spoil: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }},
		{name: "not yet valid", signedBy: ours, ca: ours.pem(), want: "not yet valid", spoil: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }},
		{name: "foreign authority", signedBy: foreign, ca: ours.pem(), want: "unknown authority"},
		{name: "authority of the test is unknown to the system", signedBy: ours, want: "unknown authority"},
		{name: "TLS 1.1", signedBy: ours, ca: ours.pem(), server: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, want: "protocol version"},
		{name: "TLS 1.2", signedBy: ours, ca: ours.pem(), server: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }},
		{name: "own certificate missing", signedBy: ours, ca: ours.pem(), server: askForCertificate, want: "certificate required"},
		{name: "own certificate shown", signedBy: ours, ca: ours.pem(), server: askForCertificate, cert: true},
		{name: "insecure trusts every peer", signedBy: foreign, insecure: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
			spoil := tt.spoil
			if spoil == nil {
				spoil = asIs
			}
			pair, err := tls.X509KeyPair(tt.signedBy.issue(t, spoil))
			if err != nil {
				t.Fatal(err)
			}
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: x509.NewCertPool()}
			srv.TLS.ClientCAs.AddCert(ours.cert)
			if tt.server != nil {
				tt.server(srv.TLS)
			}
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			srv.StartTLS()
			defer srv.Close()

			var cert, key []byte
			if tt.cert {
				cert, key = caller, callerKey
			}
			o, err := ParseTLS(tt.ca, cert, key, tt.insecure)
			if err != nil {
				t.Fatal(err)
			}
			transport := New(Policy{Allow: Loopback()}).Transport(o)
			defer transport.CloseIdleConnections()
			_, err = get(ClientOver(transport, 0), srv.URL)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("get = %v, want %q", err, tt.want)
			}
			if (calls.Load() > 0) != (tt.want == "") {
				t.Errorf("the peer got %d requests", calls.Load())
			}
		})
	}
}

func TestBadPEMIsRefused(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, asIs)
	_, otherKey := a.issue(t, asIs)
	for _, tt := range []struct {
		name          string
		ca, cert, key []byte
		field         string
	}{
		{"authority is not PEM", []byte("x"), nil, nil, "ca: "},
		{"authority is a key", key, nil, nil, "ca: "},
		{"certificate without key", nil, cert, nil, "certificate: "},
		{"key without certificate", nil, nil, key, "certificate: "},
		{"key of another certificate", nil, cert, otherKey, "certificate: "},
		{"key and certificate swapped", nil, key, cert, "certificate: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseTLS(tt.ca, tt.cert, tt.key, false)
			if err == nil || !strings.HasPrefix(err.Error(), tt.field) {
				t.Fatalf("ParseTLS = %v, want an error of %s", err, tt.field)
			}
			if block, _ := pem.Decode(key); bytes.Contains([]byte(err.Error()), block.Bytes) || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("ParseTLS repeats what it got: %v", err)
			}
		})
	}
}
