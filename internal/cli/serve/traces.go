package serve

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/edge/otlp"
)

// startTraces sends spans to the collector of the settings, if there is one, until end is called.
func (s *serving) startTraces(ctx context.Context) (end func(), err error) {
	t := &s.conf.Traces
	if t.Endpoint == "" {
		return func() {}, nil
	}
	sampler, err := samplerOf(t)
	if err != nil {
		return nil, command.BadUsage("", "OTEL_TRACES_SAMPLER: %v", err)
	}
	x, err := otlp.New(otlp.Options{
		Endpoint: t.Endpoint, Header: t.Header, Resource: resourceOf(t), Version: command.Version(), Sampler: sampler, Logger: s.log,
	})
	if err != nil {
		return nil, command.BadUsage("", "traces.%v", err)
	}
	s.tracer = x
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() { defer close(over); x.Run(ctx) }()
	return func() { cancel(); <-over }, nil
}

func samplerOf(t *config.Traces) (otlp.Sampler, error) {
	if t.Sampler != "" {
		return otlp.ParseSampler(t.Sampler, t.Arg)
	}
	return otlp.Ratio(float64(t.Sample)), nil
}

// resourceOf describes this process to the collector.
func resourceOf(t *config.Traces) (all []weir.SpanAttribute) {
	known := map[string]string{"service.version": command.Version()}
	if host, err := os.Hostname(); err == nil {
		known["host.name"] = host
	}
	maps.Copy(known, t.Resource)
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if known[key] != "" {
			all = append(all, weir.SpanAttribute{Key: key, Text: known[key]})
		}
	}
	return all
}

// traced adds the ids of the span that is under way to log records.
type traced struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if at := weir.TraceOf(ctx); !at.IsZero() {
		text := at.String() // 00-TRACE-SPAN-FLAGS
		r.AddAttrs(slog.String("trace_id", text[3:35]), slog.String("span_id", text[36:52]))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
