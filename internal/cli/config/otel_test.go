package config

import (
	"maps"
	"strings"
	"testing"
)

func TestVariablesOfOpenTelemetryFillInWhatIsNotSet(t *testing.T) {
	for _, tt := range []struct {
		name, file     string
		env            map[string]string
		want, from     string // the endpoint
		sampler        string
		header, traced string // one header, and service.name
	}{
		{name: "nothing", env: map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, from: "default"},
		{
			name: "all of them", env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318/", "OTEL_EXPORTER_OTLP_HEADERS": "other=1, api-key = a%20b", "OTEL_SERVICE_NAME": "rewards",
				"OTEL_RESOURCE_ATTRIBUTES": "service.name=never,deployment.environment.name=prod", "OTEL_TRACES_SAMPLER": "always_off", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
			},
			want: "http://otel:4318/v1/traces", from: "environment OTEL_EXPORTER_OTLP_ENDPOINT", sampler: "always_off", header: "a b", traced: "rewards",
		},
		{
			name: "that of traces before that of all", env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://tempo:4318/otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
			},
			want: "http://tempo:4318/otlp", from: "environment OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traced: "weir",
		},
		{
			name: "ours before theirs", file: "traces: {endpoint: \"http://ours:4318/v1/traces\", sample: 0.5}",
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318", "OTEL_TRACES_SAMPLER": "always_off", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			want: "http://ours:4318/v1/traces", from: "weir.yaml:1", traced: "weir",
		},
		{name: "turned off", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318", "OTEL_SDK_DISABLED": "true"}, from: "default"},
		{name: "no exporter", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318", "OTEL_TRACES_EXPORTER": "none"}, from: "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			maps.Copy(p.env, tt.env)
			s, err := p.load(t, tt.file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := valueOf(s, "traces.endpoint"); got.Text != tt.want || got.Origin != tt.from {
				t.Errorf("endpoint = %q from %q, want %q from %q", got.Text, got.Origin, tt.want, tt.from)
			}
			if s.Traces.Sampler != tt.sampler || s.Traces.Header["api-key"] != tt.header || s.Traces.Resource["service.name"] != tt.traced {
				t.Errorf("traces = %+v, want sampler %q, header %q, service %q", s.Traces, tt.sampler, tt.header, tt.traced)
			}
		})
	}
}

func TestMistakesAboutTraces(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		file string
		want string
	}{
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", "OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported; write http/protobuf"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "otel:4318"}, "", "OTEL_EXPORTER_OTLP_ENDPOINT: this is not a URL of a collector"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318", "OTEL_EXPORTER_OTLP_HEADERS": "planted"}, "", "OTEL_EXPORTER_OTLP_HEADERS: is not a list of pairs"},
		{nil, "traces: {endpoint: \"otel:4318\"}", "weir.yaml:1: traces.endpoint: this is not a URL of a collector"},
		{nil, "traces: {sample: 2}", "2 is not between 0 and 1"},
	} {
		p := newPlace(t)
		maps.Copy(p.env, tt.env)
		if _, err := p.load(t, tt.file, nil); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%v, %s: %v, want %q", tt.env, tt.file, err, tt.want)
		}
	}
}
