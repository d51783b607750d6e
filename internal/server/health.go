package server

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

// healthFor limits how long a check of the store may take.
const healthFor = 2 * time.Second

func (s *Server) healthRoutes() {
	tags := "health"
	add(s, get("", "health.live", "/healthz", tags, "Check that the process is alive").anywhere().
		about("Checks nothing else: a restart would not repair the store."), s.alive)
	add(s, get("", "health.ready", "/readyz", tags, "Check that the server is ready for requests").anywhere().
		about("Returns 503 while the store does not accept new work or provides less durability than configured, a "+
			"partition has no owner or is stopped on any node, or the server is stopping. The response says why.").
		responds(map[string]*huma.Response{"503": {Description: "Not ready", Content: map[string]*huma.MediaType{"application/json": {
			Schema: s.schemaOf(reflect.TypeFor[api.Health]()),
		}}}}), s.ready)
	if s.opts.Metrics != nil {
		s.metricsRoute()
	}
}

// metricsRoute serves metrics for Prometheus. It is not part of the API or of its document.
func (s *Server) metricsRoute() {
	const pattern = "GET /metrics"
	s.routes[pattern] = &route{id: "metrics", method: http.MethodGet, path: "/metrics", scope: access.Read}
	page := promhttp.HandlerFor(s.opts.Metrics, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := overall(r.Context()); err != nil { // tenants are among the labels
			s.refuse(w, visitOf(r.Context()), s.problem(r.Context(), err))
			return
		}
		page.ServeHTTP(w, r)
	})
}

// healthAnswer is the health of the server, with its HTTP status.
type healthAnswer struct {
	Status int
	Body   api.Health
}

func (s *Server) alive(context.Context, *struct{}) (*healthAnswer, error) {
	h := s.health()
	return &healthAnswer{http.StatusOK, h}, nil
}

func (s *Server) health() api.Health {
	h := api.Health{Status: "ok", Version: s.opts.Version}
	select {
	case <-s.stop:
		h.Status = "stopping"
	default:
	}
	return h
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
	h := s.health()
	if h.Status == "stopping" {
		h.Problems = []string{"this server is stopping"}
		return &healthAnswer{http.StatusServiceUnavailable, h}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthFor, errors.New("the store took too long"))
	defer cancel()
	s.svc.Fleet.Health(ctx, &h)
	if h.Status != "ok" {
		return &healthAnswer{http.StatusServiceUnavailable, h}, nil
	}
	return &healthAnswer{http.StatusOK, h}, nil
}
