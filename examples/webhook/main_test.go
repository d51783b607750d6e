package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhq/weir/weirtest"
)

func TestItKeepsTheContract(t *testing.T) {
	s := httptest.NewServer(newWallet())
	defer s.Close()
	weirtest.CheckHTTPAction(t, s.URL+"/award", json.RawMessage(`{"user_id":"u1"}`))
}

func TestAClosedAccountFails(t *testing.T) {
	s := httptest.NewServer(newWallet())
	defer s.Close()
	body := `{"items":[{"id":"a","idempotency_key":"k1","data":{"closed":true}},{"id":"b","idempotency_key":"k2","data":{}}]}`
	r, err := s.Client().Post(s.URL+"/award", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var got answer
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 2 || got.Results[0].Status != "failed" || got.Results[0].Code != "closed" || got.Results[1].Status != "done" {
		t.Errorf("results = %+v", got.Results)
	}
}
