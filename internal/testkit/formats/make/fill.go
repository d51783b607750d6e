package main

import (
	"fmt"
	"slices"
)

// bulk is a bulk action in the store.
type bulk struct {
	Name  string `json:"name"`
	ID    string `json:"id"`
	State string `json:"state"` // when the store was packed
	Items int    `json:"items"`
	Fails int    `json:"fails"` // items that fail
	Ended int    `json:"ended"` // items that had ended for sure
	First string `json:"first"` // id of the first item
}

// contents tells what is in the store.
type contents struct {
	Bulks    []bulk `json:"bulks"`
	Key      string `json:"key"` // an API key that may read
	Schedule string `json:"schedule"`
	Webhook  string `json:"webhook"`
}

type object = map[string]any

// items returns items of a bulk action.
func items(of string, n int) (list []object) {
	for i := range n {
		list = append(list, object{"id": fmt.Sprintf("%s-%d", of, i), "data": object{"user_id": i, "email": fmt.Sprintf("user%d@example.com", i)}})
	}
	return list
}

// fill creates one of each kind of thing.
func (s *weirServer) fill(e *endpoint) (c contents, err error) {
	if err := s.settings(&c); err != nil {
		return c, err
	}
	if err := s.ended(&c); err != nil {
		return c, err
	}
	e.slow.Store(true)
	for _, x := range []struct {
		name  string
		start bool
		state string
		after int64
	}{{"Waiting newsletter", false, "sealed", 0}, {"Paused reminder", true, "paused", 2}, {"Running coupons", true, "running", 2}} {
		b, err := s.create(x.name, 4000, x.start, nil)
		if err != nil {
			return c, err
		}
		if x.after > 0 {
			before := e.calls.Load()
			if err := s.until(func() (bool, error) { return e.calls.Load() >= before+x.after, nil }); err != nil {
				return c, err
			}
		}
		if x.state == "paused" {
			if err := s.pause(&b); err != nil {
				return c, err
			}
		}
		b.State = x.state
		c.Bulks = append(c.Bulks, b)
	}
	return c, nil
}

// settings creates what is not work.
func (s *weirServer) settings(c *contents) error {
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	for _, x := range []struct {
		method, path string
		body         object
		to           *string
	}{
		{"PUT", "/v1/resources/mail", object{"concurrency": 2}, nil},
		{"PUT", "/v1/actions/remind", object{"url": s.endpoint, "resource": "mail", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"header": object{"x-token": "token of the endpoint"}, "batch": 50, "retry": object{"max_attempts": 200, "cap": "1s"}}, nil},
		{"PUT", "/v1/connections/warehouse", object{"kind": "http", "url": s.endpoint, "secret": object{"token": "token of the warehouse"}}, nil},
		{"POST", "/v1/webhooks", object{"url": s.endpoint + "/hook", "events": []string{"bulk_action.failed"}, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, &c.Webhook},
		{"POST", "/v1/schedules", object{"name": "every spring", "cron": "0 9 21 3 *", "bulk_action": object{
			"name": "spring", "steps": []object{{"action": "remind"}}, "callback": object{"url": s.endpoint + "/told", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
			"source": object{"segment": object{"url": s.endpoint + "/segment", "connection": "warehouse"}}}}, &c.Schedule},
		{"POST", "/v1/keys", object{"name": "reader", "scopes": []string{"read"}}, &c.Key},
	} {
		if err := s.call(x.method, x.path, x.body, &made); err != nil {
			return err
		}
		switch x.to {
		case nil:
		case &c.Key:
			*x.to = made.Key
		default:
			*x.to = made.ID
		}
	}
	return s.call("POST", "/v1/schedules/"+c.Schedule+"/pause", object{}, nil)
}

// create creates a bulk action.
func (s *weirServer) create(name string, n int, start bool, more object) (bulk, error) {
	list := items(fmt.Sprintf("u%d", n), n)
	body := object{"name": name, "steps": []object{{"action": "remind"}}, "items": list, "start": start}
	for k, v := range more {
		body[k] = v
	}
	b := bulk{Name: name, Items: n, First: list[0]["id"].(string)}
	for _, i := range list {
		if id := i["id"].(string); id[len(id)-1] == '7' {
			b.Fails++
		}
	}
	var made struct {
		ID string `json:"id"`
	}
	err := s.call("POST", "/v1/bulk-actions", body, &made)
	b.ID = made.ID
	return b, err
}

// view is what the server says of a bulk action.
type view struct {
	State  string `json:"state"`
	Counts struct {
		Done     int `json:"done"`
		Failed   int `json:"failed"`
		InFlight int `json:"in_flight"`
	} `json:"counts"`
}

func (s *weirServer) wait(b *bulk, states ...string) error {
	return s.until(func() (bool, error) {
		var v view
		err := s.call("GET", "/v1/bulk-actions/"+b.ID, nil, &v)
		b.State, b.Ended = v.State, v.Counts.Done+v.Counts.Failed
		return slices.Contains(states, v.State) && v.Counts.InFlight == 0, err
	})
}

// ended creates bulk actions that end: one with labels and a callback, and a small one.
func (s *weirServer) ended(c *contents) error {
	for _, x := range []struct {
		name string
		n    int
		more object
	}{{"Spring reward", 300, object{"labels": object{"team": "growth"}, "callback": object{"url": s.endpoint + "/told", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}}, {"Three friends", 3, nil}} {
		b, err := s.create(x.name, x.n, true, x.more)
		if err != nil {
			return err
		}
		if err := s.wait(&b, "completed", "failed"); err != nil {
			return err
		}
		c.Bulks = append(c.Bulks, b)
	}
	return nil
}

func (s *weirServer) pause(b *bulk) error {
	if err := s.call("POST", "/v1/bulk-actions/"+b.ID+"/pause", object{}, nil); err != nil {
		return err
	}
	return s.wait(b, "paused")
}
