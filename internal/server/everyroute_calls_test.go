package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
)

// call is a request that works, of a tenant's or, with operator, of an operator's.
type call struct {
	path     string
	body     string
	headers  []string
	operator bool
}

// calls has, for every route that changes something, a request that works. Each
// makes what it needs, so that it can be made as often as one likes.
var calls = map[string]func(p *place) call{
	"bulk_action.create": func(*place) call {
		return call{path: "/v1/bulk-actions", body: `{"name":"spring","steps":[{"action":"award"}]}`}
	},
	"bulk_action.append": func(p *place) call {
		return call{path: p.bulk("") + "/items", body: `{"id":"u1"}` + "\n", headers: []string{"Content-Type", "application/x-ndjson"}}
	},
	"bulk_action.describe": func(p *place) call {
		return call{path: p.bulk("") + "/draft", body: `{"name":"autumn","steps":[{"action":"award"}]}`}
	},
	"bulk_action.change": func(p *place) call { return call{path: p.held(), body: `{"priority":5}`} },
	"bulk_action.seal": func(p *place) call {
		path := p.bulk("")
		p.must("POST", path+"/items", `{"id":"u1"}`, nil, "Content-Type", "application/x-ndjson")
		return call{path: path + "/seal", body: `{"expected_items":1}`}
	},
	"bulk_action.start":      func(p *place) call { return call{path: p.bulk(someItems) + "/start", body: `{}`} },
	"bulk_action.pause":      func(p *place) call { return call{path: p.held() + "/pause", body: `{"reason":"provider asks"}`} },
	"bulk_action.resume":     func(p *place) call { return call{path: p.paused() + "/resume", body: `{}`} },
	"bulk_action.cancel":     func(p *place) call { return call{path: p.bulk(someItems) + "/cancel", body: `{}`} },
	"bulk_action.approve":    func(p *place) call { return call{path: p.canary() + "/approve", body: `{}`} },
	"bulk_action.unschedule": func(p *place) call { return call{path: p.later() + "/unschedule", body: `{}`} },
	"bulk_action.retry":      func(p *place) call { return call{path: p.ended() + "/retry", body: `{}`} },
	"bulk_action.undo":       func(p *place) call { return call{path: p.ended() + "/undo", body: `{}`} },
	"bulk_action.clone":      func(p *place) call { return call{path: p.bulk(someItems) + "/clone", body: `{}`} },
	"bulk_action.trial":      func(p *place) call { return call{path: p.bulk(someItems) + "/trial", body: `{"dry_run":false}`} },
	"bulk_action.import": func(p *place) call {
		return call{path: p.bulk("") + "/import", body: fmt.Sprintf(`{"segment":{"url":"%s/segment"}}`, p.w.sink.URL)}
	},
	"bulk_action.delete": func(p *place) call { return call{path: p.bulk("")} },

	"dlq.retry": func(p *place) call {
		return call{path: "/v1/dlq/retry", body: p.ofBulk(`{"filter":{"bulk_action":"%s"}}`)}
	},
	"dlq.discard": func(p *place) call {
		return call{path: "/v1/dlq/discard", body: p.ofBulk(`{"filter":{"bulk_action":"%s"},"reason":"known"}`)}
	},

	"key.create": func(*place) call { return call{path: "/v1/keys", body: `{"name":"another","scopes":["read"]}`} },
	"key.revoke": func(p *place) call { return call{path: p.one("/v1/keys", `{"name":"another","scopes":["read"]}`)} },

	"webhook.create": func(p *place) call { return call{path: "/v1/webhooks", body: p.webhookBody()} },
	"webhook.change": func(p *place) call { return call{path: p.one("/v1/webhooks", p.webhookBody()), body: p.webhookBody()} },
	"webhook.delete": func(p *place) call { return call{path: p.one("/v1/webhooks", p.webhookBody())} },
	"webhook.test":   func(p *place) call { return call{path: p.one("/v1/webhooks", p.webhookBody()) + "/test", body: `{}`} },
	"webhook.rotate": func(p *place) call { return call{path: p.one("/v1/webhooks", p.webhookBody()) + "/rotate", body: `{}`} },
	"delivery.resend": func(p *place) call {
		var d api.Delivery
		p.must("POST", p.one("/v1/webhooks", p.webhookBody())+"/test", `{}`, &d)
		return call{path: "/v1/deliveries/" + d.ID + "/resend", body: `{}`}
	},

	"schedule.create": func(p *place) call { return call{path: "/v1/schedules", body: p.scheduleBody("weekly")} },
	"schedule.change": func(p *place) call {
		return call{path: p.one("/v1/schedules", p.scheduleBody("a")), body: p.scheduleBody("b")}
	},
	"schedule.delete": func(p *place) call { return call{path: p.one("/v1/schedules", p.scheduleBody("a"))} },
	"schedule.pause": func(p *place) call {
		return call{path: p.one("/v1/schedules", p.scheduleBody("a")) + "/pause", body: `{}`}
	},
	"schedule.resume": func(p *place) call {
		return call{path: p.one("/v1/schedules", p.scheduleBody("a")) + "/resume", body: `{}`}
	},
	"schedule.backfill": func(p *place) call {
		return call{path: p.one("/v1/schedules", p.scheduleBody("a")) + "/backfill", body: `{"from":"2024-12-01T00:00:00Z","to":"2025-02-01T00:00:00Z"}`}
	},

	"upload.create": func(*place) call {
		return call{path: "/v1/uploads", headers: []string{"Tus-Resumable", "1.0.0", "Upload-Length", "5"}}
	},
	"upload.write": func(p *place) call {
		return call{path: p.upload(), body: "hello", headers: []string{"Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream"}}
	},
	"upload.delete": func(p *place) call { return call{path: p.upload(), headers: []string{"Tus-Resumable", "1.0.0"}} },

	"action.put":    func(p *place) call { return call{path: p.name("/v1/actions"), body: p.actionBody()} },
	"action.delete": func(p *place) call { return call{path: p.put("/v1/actions", p.actionBody())} },
	"action.test": func(p *place) call {
		return call{path: p.put("/v1/actions", p.actionBody()) + "/test", body: `{"items":[{"id":"u1"}]}`}
	},

	"connection.put":    func(p *place) call { return call{path: p.name("/v1/connections"), body: p.connectionBody()} },
	"connection.delete": func(p *place) call { return call{path: p.put("/v1/connections", p.connectionBody())} },
	"connection.test": func(p *place) call {
		return call{path: p.put("/v1/connections", p.connectionBody()) + "/test", body: `{}`}
	},

	"template.put":    func(p *place) call { return call{path: p.name("/v1/templates"), body: p.templateBody()} },
	"template.delete": func(p *place) call { return call{path: p.put("/v1/templates", p.templateBody())} },

	"tenant.put":    func(p *place) call { return call{path: p.name("/v1/tenants"), body: `{"weight":3}`, operator: true} },
	"tenant.delete": func(p *place) call { return call{path: p.put("/v1/tenants", `{"weight":3}`), operator: true} },
	"resource.put": func(p *place) call {
		return call{path: p.name("/v1/resources"), body: `{"rate":"450/s"}`, operator: true}
	},
	"resource.delete": func(p *place) call { return call{path: p.put("/v1/resources", `{"rate":"450/s"}`), operator: true} },
	"resource.circuit": func(p *place) call {
		p.w.until("use of the resource", func() bool { return p.w.ask(p.w.admin, "GET", "/v1/resources/award", "").status == http.StatusOK })
		return call{path: "/v1/resources/award/circuit", body: `{"do":"close"}`, operator: true}
	},
	"scaling.put": func(*place) call { return call{path: "/v1/scaling", body: `{}`, operator: true} },
	"partitioning.put": func(*place) call {
		return call{path: "/v1/partitioning", body: `{"partitions":9}`, operator: true}
	},
	"lane.pin": func(*place) call { return call{path: "/v1/lanes/p00/award/pin", body: pinBody(), operator: true} },
	"lane.unpin": func(p *place) call {
		p.w.must(p.w.admin, "PUT", "/v1/lanes/p00/award/pin", pinBody(), nil)
		return call{path: "/v1/lanes/p00/award/pin", operator: true}
	},
}

// do makes the request of a call.
func (p *place) do(r server.Route, c call, headers ...string) answer {
	p.w.t.Helper()
	key := p.keys["admin"]
	if c.operator {
		key = p.w.admin
	}
	return p.w.ask(key, r.Method, c.path, c.body, append(headers, c.headers...)...)
}

func (p *place) one(path, body string) string { return path + "/" + p.make(path, body) }

// name is a path with a name that nothing has.
func (p *place) name(path string) string {
	return fmt.Sprintf("%s/%s-%s", path, p.tenant, strings.ReplaceAll(time.Now().Format("150405.000000000"), ".", "-"))
}

// put makes something of a name.
func (p *place) put(path, body string) string {
	p.w.t.Helper()
	made := p.name(path)
	p.w.must(p.w.admin, http.MethodPut, made, body, nil)
	return made
}

func (p *place) held() string  { return p.in("running", p.bulk("HOLD"+someItems+runAtOnce)) }
func (p *place) ended() string { return "/v1/bulk-actions/" + p.completed() }
func (p *place) canary() string {
	return p.in("awaiting_approval", p.bulk(someItems+runAtOnce+`,"canary":{"items":1,"approve":"manual"}`))
}

func (p *place) later() string {
	return p.in("scheduled", p.bulk(someItems+`,"start_at":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"`))
}

func (p *place) paused() string {
	path := p.held()
	p.must("POST", path+"/pause", `{}`, nil)
	return p.in("paused", path)
}

func (p *place) ofBulk(format string) string { return fmt.Sprintf(format, p.completed()) }

func (p *place) upload() string {
	a := p.must("POST", "/v1/uploads", "", nil, "Tus-Resumable", "1.0.0", "Upload-Length", "5")
	where := a.header.Get("Location")
	return where[strings.Index(where, "/v1/"):]
}

func (p *place) webhookBody() string { return `{"url":"` + p.w.sink.URL + `/hook"}` }

func (p *place) actionBody() string {
	return `{"url":"` + p.w.sink.URL + `/act","tenants":["` + p.tenant + `"]}`
}

func (p *place) connectionBody() string {
	return `{"kind":"http","url":"` + p.w.sink.URL + `","tenants":["` + p.tenant + `"]}`
}

func (p *place) templateBody() string {
	return `{"tenant":"` + p.tenant + `","bulk_action":{"steps":[{"action":"award"}]}}`
}

func pinBody() string {
	return `{"workers":1,"until":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `","reason":"flash sale"}`
}

// bodyFor is a body that a route accepts, for what is not there.
func (w *world) bodyFor(r server.Route) string {
	if body, ok := map[string]string{
		"item.lookup":       `{"id":"u1"}`,
		"schedule.backfill": `{"from":"2024-12-01T00:00:00Z","to":"2025-02-01T00:00:00Z"}`,
		"schedule.change":   w.acme.scheduleBody("stolen"),
		"webhook.change":    w.acme.webhookBody(),
		"action.put":        `{"url":"` + w.sink.URL + `"}`,
		"connection.put":    `{"kind":"http","url":"` + w.sink.URL + `"}`,
		"simulation.run":    `{"world":{"resources":[{"name":"send","rate":"100/s","downstream":{"latency":"10ms"}}],"bulk_actions":[{"name":"spring","items":100,"steps":["send"]}]}}`,
		"effect.run":        `{"weights":{"acme":2}}`,
		"template.put":      `{"bulk_action":{"steps":[{"action":"award"}]}}`,
		"tenant.put":        `{"weight":9}`,
		"action.test":       `{"items":[{"id":"u1"}]}`,
		"upload.write":      "hello",
	}[r.ID]; ok {
		return body
	}
	if r.Method == http.MethodGet || r.Method == http.MethodDelete || r.Method == http.MethodHead {
		return ""
	}
	return `{}`
}
