package config

import (
	"net/url"
	"strings"
)

// otel reads the variables of OpenTelemetry for what no setting of ours says.
func (l *loader) otel() {
	t := &l.server.Traces
	if l.Getenv("OTEL_SDK_DISABLED") != "true" && l.Getenv("OTEL_TRACES_EXPORTER") != "none" && t.Endpoint == "" {
		l.otelEndpoint()
	}
	if t.Endpoint == "" {
		return
	}
	if l.server.origins["traces.sample"].kind == "" {
		t.Sampler, t.Arg = l.Getenv("OTEL_TRACES_SAMPLER"), l.Getenv("OTEL_TRACES_SAMPLER_ARG")
	}
	t.Header, t.Resource = map[string]string{}, map[string]string{"service.name": "weir"}
	l.otelPairs(t.Header, "OTEL_EXPORTER_OTLP_HEADERS")
	l.otelPairs(t.Header, "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
	l.otelPairs(t.Resource, "OTEL_RESOURCE_ATTRIBUTES")
	if name := l.Getenv("OTEL_SERVICE_NAME"); name != "" {
		t.Resource["service.name"] = name
	}
}

// otelEndpoint takes the endpoint of the variables, if they ask for a protocol that we speak.
func (l *loader) otelEndpoint() {
	name, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	if l.Getenv(name) == "" {
		name, path = "OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces"
	}
	at := l.Getenv(name)
	if at == "" {
		return
	}
	for _, which := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch p := l.Getenv(which); p {
		case "":
			continue
		case "http/protobuf":
		default:
			l.add(&Error{File: which, Problem: p + " is not supported",
				Fix: "write http/protobuf and name that port, mostly 4318; or turn traces off with OTEL_TRACES_EXPORTER=none"})
			return
		}
		break
	}
	if path != "" {
		at = strings.TrimSuffix(at, "/") + path
	}
	l.server.Traces.Endpoint = at
	l.server.origins["traces.endpoint"] = origin{name, 0, "environment"}
}

// otelPairs reads a variable with key=value,key=value, values with %-escapes.
func (l *loader) otelPairs(into map[string]string, name string) {
	for pair := range strings.SplitSeq(l.Getenv(name), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || err != nil || key == "" {
			l.add(&Error{File: name, Problem: "is not a list of pairs", Fix: "write key=value,key=value with values escaped as in URLs"})
			return // what it holds may be secret
		}
		into[key] = plain
	}
}

// checkTraces wants an endpoint that can be called.
func checkTraces(s *Server, fault faultAt) {
	if s.Traces.Endpoint == "" {
		return
	}
	if u, err := url.Parse(s.Traces.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		fault("traces.endpoint", "this is not a URL of a collector", "write it as in http://localhost:4318/v1/traces")
	}
}
