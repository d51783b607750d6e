package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestObjectsFitTheirSchemas holds everything that is rendered against the schemas of Kubernetes and of the operators.
func TestObjectsFitTheirSchemas(t *testing.T) {
	v := newValidator(t)
	seen := map[string]bool{}
	all := accepted(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r, err := render(t, all[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		names := map[string]bool{}
		for _, o := range r.objects {
			seen[o.kind()] = true
			if err := v.check(o); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.kind(), o.name(), err)
			}
			if id := o.kind() + " " + o.name(); names[id] {
				t.Errorf("%s: %s is there twice", name, id)
			} else {
				names[id] = true
			}
		}
		if !strings.Contains(r.notes, "rollout status") {
			t.Errorf("%s: the notes do not say what to do next: %q", name, r.notes)
		}
	}
	want := []string{
		"ConfigMap", "Deployment", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "ScaledObject", "Service",
		"ServiceAccount", "ServiceMonitor", "StatefulSet", "TriggerAuthentication",
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("kinds that were checked: %q, want %q", got, want)
	}
}

// TestTheSchemasFindMistakes breaks objects of each origin: a validator that finds nothing would say nothing.
func TestTheSchemasFindMistakes(t *testing.T) {
	v := newValidator(t)
	r, err := render(t, read(t, "testdata/values/redis-keda.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		kind, from, to string
	}{
		{"Deployment", `"readOnlyRootFilesystem"`, `"readOnlyRootFileSystem"`},
		{"Deployment", `"path":"/readyz"`, `"paths":"/readyz"`},
		{"Deployment", `"containers":`, `"container":`},
		{"Deployment", `"terminationGracePeriodSeconds":60`, `"terminationGracePeriodSeconds":"60s"`},
		{"Service", `"selector"`, `"matchLabels"`},
		{"NetworkPolicy", `"podSelector"`, `"pods"`},
		{"PodDisruptionBudget", `"maxUnavailable"`, `"maxUnavailables"`},
		{"ServiceMonitor", `"credentials"`, `"secret"`},
		{"ServiceMonitor", `"labels"`, `"label"`},
		{"ScaledObject", `"maxReplicaCount"`, `"maxReplicas"`},
		{"ScaledObject", `"triggers"`, `"trigger"`},
		{"TriggerAuthentication", `"secretTargetRef"`, `"secretRef"`},
	} {
		o := r.only(t, tt.kind)
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(raw), tt.from, tt.to, 1)
		if text == string(raw) {
			t.Errorf("%s has no %s: %s", tt.kind, tt.from, raw)
		}
		var broken object
		if err := json.Unmarshal([]byte(text), &broken); err != nil {
			t.Fatal(err)
		}
		if v.check(broken) == nil {
			t.Errorf("%s with %s in place of %s fits", tt.kind, tt.to, tt.from)
		}
	}
}

// TestKEDAKnowsTheTrigger compares the trigger with the fields that the source of its scaler reads.
func TestKEDAKnowsTheTrigger(t *testing.T) {
	r, err := render(t, read(t, "testdata/values/redis-keda.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := kedaModule.dir(t)
	metadata, params := map[string]bool{}, map[string]bool{}
	for _, file := range []string{"/pkg/scalers/metrics_api_scaler.go", "/pkg/scalers/authentication/authentication_types.go"} {
		for _, m := range regexp.MustCompile("`keda:\"name=([^,]+),\\s*order=([a-zA-Z;]+)").FindAllStringSubmatch(read(t, dir+file), -1) {
			for _, name := range strings.Split(m[1], ";") {
				metadata[name] = metadata[name] || strings.Contains(m[2], "triggerMetadata")
				params[name] = params[name] || strings.Contains(m[2], "authParams")
			}
		}
	}
	scaled := r.only(t, "ScaledObject")
	given, _ := scaled.at("spec", "triggers", 0, "metadata").(map[string]any)
	for name := range given {
		if !metadata[name] {
			t.Errorf("the scaler metrics-api reads no %s", name)
		}
	}
	auth := r.only(t, "TriggerAuthentication")
	if p := auth.text("spec", "secretTargetRef", 0, "parameter"); !params[p] || given["authMode"] != "bearer" {
		t.Errorf("parameter %s with the mode %v", p, given["authMode"])
	}
	if scaled.text("spec", "triggers", 0, "authenticationRef", "name") != auth.name() {
		t.Error("the trigger does not name its authentication")
	}
	if scaled.text("spec", "triggers", 0, "metricType") != "AverageValue" || given["targetValue"] != "1" {
		t.Error("the number of pods is not desired_nodes: as a plain value it would be multiplied by the pods that there are")
	}
	to := scaled.at("spec", "scaleTargetRef").(map[string]any)
	if w := r.workload(t); to["name"] != w.name() || to["kind"] != w.kind() || w.at("spec", "replicas") != nil {
		t.Errorf("%v is scaled, and the workload is %s %s with %v replicas", to, w.kind(), w.name(), w.at("spec", "replicas"))
	}
	service := r.only(t, "Service")
	want := fmt.Sprintf("https://%s.%s.svc.cluster.local:%v/v1/scale", service.name(), namespace, service.at("spec", "ports", 0, "port"))
	if given["url"] != want {
		t.Errorf("KEDA asks %v, want %s", given["url"], want)
	}
}

// TestTheAlertsAreThoseOfTheDocs compares the rules with docs/alerts.yaml, whose braces are no templates of Helm.
func TestTheAlertsAreThoseOfTheDocs(t *testing.T) {
	r, err := render(t, read(t, "testdata/values/embedded-everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../docs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, group := range r.only(t, "PrometheusRule").list("spec", "groups") {
		for _, rule := range group.list("rules") {
			if n++; !strings.Contains(string(raw), "alert: "+rule.text("alert")+"\n") {
				t.Errorf("docs/alerts.yaml has no %s", rule.text("alert"))
			}
		}
	}
	if want := strings.Count(string(raw), "- alert:"); n != want {
		t.Errorf("%d alerts, want %d", n, want)
	}
	job := r.only(t, "ServiceMonitor").text("spec", "endpoints", 0, "relabelings", 0, "replacement")
	if !strings.Contains(string(raw), fmt.Sprintf("job=%q", job)) {
		t.Errorf("the alerts do not ask for the job %s", job)
	}
}
