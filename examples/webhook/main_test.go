package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhq/weir/weirtest"
)

func start(t *testing.T, secret string) *httptest.Server {
	t.Helper()
	h, err := newWallet(secret)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestItKeepsTheContract(t *testing.T) {
	weirtest.CheckHTTPAction(t, start(t, "").URL+"/award", json.RawMessage(`{"user_id":"u1"}`))
}

func TestItRefusesCallsThatAreNotSigned(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	weirtest.HTTPCheck{URL: start(t, secret).URL + "/award", Item: json.RawMessage(`{"user_id":"u1"}`), Secret: secret}.Run(t)
}

func TestAClosedAccountFails(t *testing.T) {
	s := start(t, "")
	body := `{"items":[{"id":"a","idempotency_key":"k1","data":{"closed":true}},{"id":"b","idempotency_key":"k2","data":{}}]}`
	r, err := s.Client().Post(s.URL+"/award", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var got struct{ Results []result }
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 2 || got.Results[0].Status != "failed" || got.Results[0].Code != "closed" || got.Results[1].Status != "done" {
		t.Errorf("results = %+v", got.Results)
	}
}
