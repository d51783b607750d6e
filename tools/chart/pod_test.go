package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// number returns the number under keys.
func (o object) number(t *testing.T, keys ...any) int64 {
	t.Helper()
	n, err := json.Number(fmt.Sprint(o.at(keys...))).Int64()
	if err != nil {
		t.Fatalf("%v: %v", keys, err)
	}
	return n
}

// each runs a test for all values that are accepted.
func each(t *testing.T, test func(t *testing.T, r *rendered, pod object)) {
	t.Helper()
	all := accepted(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			r, err := render(t, all[name])
			if err != nil {
				t.Fatal(err)
			}
			test(t, r, r.workload(t).at("spec", "template").(map[string]any))
		})
	}
}

func env(pod object) map[string]object {
	all := map[string]object{}
	for _, e := range pod.list("spec", "containers", 0, "env") {
		all[e.text("name")] = e
	}
	return all
}

func TestAPodMayDrainBeforeItIsKilled(t *testing.T) {
	each(t, func(t *testing.T, _ *rendered, pod object) {
		grace := pod.number(t, "spec", "terminationGracePeriodSeconds")
		pause := int64(0)
		if pod.at("spec", "containers", 0, "lifecycle") != nil {
			pause = pod.number(t, "spec", "containers", 0, "lifecycle", "preStop", "sleep", "seconds")
		}
		var drain int64
		if _, err := fmt.Sscanf(env(pod)["WEIR_DRAIN"].text("value"), "%ds", &drain); err != nil {
			t.Fatal(err)
		}
		if grace < pause+drain+10 {
			t.Errorf("the pod is killed after %d s; it waits for %d s and drains for %d s", grace, pause, drain)
		}
	})
}

func TestThePodHasNoRights(t *testing.T) {
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)`).FindStringSubmatch(read(t, "../../deploy/Dockerfile"))
	each(t, func(t *testing.T, r *rendered, pod object) {
		if u, g := fmt.Sprint(pod.at("spec", "securityContext", "runAsUser")), fmt.Sprint(pod.at("spec", "securityContext", "runAsGroup")); u != user[1] ||
			g != user[2] || fmt.Sprint(pod.at("spec", "securityContext", "fsGroup")) != user[2] {
			t.Errorf("it runs as %s:%s, and the image as %s", u, g, user[0])
		}
		c := object(pod.at("spec", "containers", 0, "securityContext").(map[string]any))
		if c.at("readOnlyRootFilesystem") != true || c.at("allowPrivilegeEscalation") != false || c.text("capabilities", "drop", 0) != "ALL" ||
			pod.at("spec", "securityContext", "runAsNonRoot") != true || pod.text("spec", "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
			t.Errorf("not the rights of the profile restricted: %v %v", c, pod.at("spec", "securityContext"))
		}
		if pod.at("spec", "automountServiceAccountToken") != false {
			t.Error("the pod has a token of the cluster")
		}
		if pod.at("spec", "enableServiceLinks") != false {
			t.Error("Services of the namespace set variables, such as WEIR_PORT")
		}
		if pod.text("spec", "securityContext", "fsGroupChangePolicy") != "OnRootMismatch" {
			t.Error("vault.key in the volume becomes writable for its group, and the server refuses it")
		}
		for _, a := range r.of("ServiceAccount") {
			if a.at("automountServiceAccountToken") != false {
				t.Error("the account has a token")
			}
		}
	})
}

// TestMountsAndSecretsFit compares mounts with volumes, and the files that variables name with mounts.
func TestMountsAndSecretsFit(t *testing.T) {
	each(t, func(t *testing.T, r *rendered, pod object) {
		volumes, mounts := map[string]bool{}, []string{"/tmp"}
		for _, v := range pod.list("spec", "volumes") {
			volumes[v.text("name")] = true
			if s := v.at("secret"); s != nil && v.number(t, "secret", "defaultMode") != 0o440 {
				t.Errorf("secret %s: mode %o", v.text("name"), v.number(t, "secret", "defaultMode"))
			}
		}
		for _, v := range r.workload(t).list("spec", "volumeClaimTemplates") {
			volumes[v.name()] = true
		}
		for _, m := range pod.list("spec", "containers", 0, "volumeMounts") {
			if !volumes[m.text("name")] {
				t.Errorf("no volume %s", m.text("name"))
			}
			for _, other := range mounts {
				if strings.HasPrefix(m.text("mountPath"), other+"/") {
					t.Errorf("%s is inside the mount %s, which is read-only", m.text("mountPath"), other)
				}
			}
			mounts = append(mounts, m.text("mountPath"))
			delete(volumes, m.text("name"))
		}
		if len(volumes) > 0 {
			t.Errorf("volumes that are not mounted: %v", volumes)
		}
		var files []string
		for _, e := range env(pod) {
			if strings.HasPrefix(e.text("value"), "/etc/") {
				files = append(files, e.text("value"))
			}
		}
		files = append(files, regexp.MustCompile(`/etc/weir/secrets/[^\s,}]+`).FindAllString(r.only(t, "ConfigMap").text("data", "weir.yaml"), -1)...)
		for _, f := range files {
			if !slices.ContainsFunc(mounts, func(m string) bool { return strings.HasPrefix(f, m+"/") }) {
				t.Errorf("%s is not mounted", f)
			}
		}
	})
}

// TestSelectorsMatch holds all selectors against the labels of the pods, and names of ports against ports.
func TestSelectorsMatch(t *testing.T) {
	matches := func(selector any, labels map[string]any) bool {
		s, _ := selector.(map[string]any)
		for k, v := range s {
			if labels[k] != v {
				return false
			}
		}
		return len(s) > 0
	}
	each(t, func(t *testing.T, r *rendered, pod object) {
		labels := pod.at("metadata", "labels").(map[string]any)
		ports := map[string]bool{}
		for _, p := range pod.list("spec", "containers", 0, "ports") {
			ports[p.text("name")] = true
		}
		for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
			if p := pod.text("spec", "containers", 0, probe, "httpGet", "port"); !ports[p] {
				t.Errorf("%s asks the port %q", probe, p)
			}
		}
		w := r.workload(t)
		selectors := []any{w.at("spec", "selector", "matchLabels")}
		for _, c := range pod.list("spec", "topologySpreadConstraints") {
			selectors = append(selectors, c.at("labelSelector", "matchLabels"))
		}
		services := map[string]object{}
		for _, s := range r.of("Service") {
			services[s.name()] = s
			selectors = append(selectors, s.at("spec", "selector"))
			for _, p := range s.list("spec", "ports") {
				if !ports[p.text("targetPort")] {
					t.Errorf("Service %s: port %q", s.name(), p.text("targetPort"))
				}
			}
		}
		for _, p := range r.of("PodDisruptionBudget") {
			selectors = append(selectors, p.at("spec", "selector", "matchLabels"))
		}
		for _, p := range r.of("NetworkPolicy") {
			selectors = append(selectors, p.at("spec", "podSelector", "matchLabels"))
			for _, rule := range p.list("spec", "ingress") {
				if !ports[rule.text("ports", 0, "port")] {
					t.Errorf("NetworkPolicy: port %q", rule.text("ports", 0, "port"))
				}
				if len(rule.list("from")) == 0 {
					t.Error("NetworkPolicy: everyone may reach a port")
				}
			}
		}
		for _, s := range selectors {
			if !matches(s, labels) {
				t.Errorf("%v does not select %v", s, labels)
			}
		}
		if name := w.text("spec", "serviceName"); w.kind() == "StatefulSet" && services[name].text("spec", "clusterIP") != "None" {
			t.Errorf("the Service %s is not headless", name)
		}
		for _, i := range r.of("Ingress") {
			for _, rule := range i.list("spec", "rules") {
				if s := services[rule.text("http", "paths", 0, "backend", "service", "name")]; s.text("spec", "ports", 0, "name") != rule.text("http", "paths", 0, "backend", "service", "port", "name") {
					t.Errorf("the host %s leads to %v", rule.text("host"), s)
				}
			}
		}
		for _, m := range r.of("ServiceMonitor") {
			n := 0
			for _, s := range services {
				if matches(m.at("spec", "selector", "matchLabels"), s.at("metadata", "labels").(map[string]any)) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d Services are scraped: each pod as often", n)
			}
		}
	})
}
