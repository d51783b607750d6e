package chart

import (
	"strings"
	"testing"
)

// TestMistakesInValuesAreRefused adds a mistake to values that are accepted, and looks for what the message says.
func TestMistakesInValuesAreRefused(t *testing.T) {
	embedded, redis := read(t, "testdata/values/embedded.yaml"), read(t, "testdata/values/redis.yaml")
	for _, tt := range []struct{ name, base, from, to, want string }{
		{"several pods on the embedded store", embedded, "", "replicas: 3", "3 pods cannot share the embedded store"},
		{"a role without Redis", embedded, "", "role: worker", "worker needs a store that other nodes can reach"},
		{"addresses of Redis for the embedded store", embedded, "", `redis: {addresses: ["redis:6379"]}`, "set store redis"},
		{"no TLS", embedded, "tls: {proxy: true}", "", "without TLS the API keys would be sent unencrypted"},
		{"two ways of TLS", embedded, "proxy: true", "proxy: true, existingSecret: weir-tls", "keep one of them"},
		{"no admin key", embedded, "adminKey: {existingSecret: weir-admin}", "", "kubectl create secret generic weir-admin"},
		{"no image", embedded, "image: {tag: v1.2.3}", "", "name the image to run"},
		{"KEDA on the embedded store", embedded, "", "keda: {enabled: true, existingSecret: k}", "the embedded store allows one pod"},
		{"more durable than the embedded store", embedded, "", "config: {durability: replicated}", "has no replicas"},
		{"a setting of the chart in config", embedded, "", "config: {drain: 5m}", "use the value drainSeconds"},
		{"TLS in config", embedded, "", "config: {tls: {client_ca: ca.crt}}", "the chart sets this"},
		{"a variable of the chart", embedded, "", "extraEnv: [{name: WEIR_REDIS, value: x}]", "the chart sets WEIR_REDIS"},
		{"an unknown store", embedded, "", "store: postgres", "store"},
		{"an unknown value", embedded, "", "replicaCount: 2", "replicaCount"},
		{"an unknown value inside", embedded, "", "persistence: {sise: 1Gi}", "sise"},
		{"a drain of nothing", embedded, "", "drainSeconds: 0", "drainSeconds"},
		{"a drain as a text", embedded, "", "drainSeconds: 30s", "drainSeconds"},
		{"no time to hand over", embedded, "", "stopMarginSeconds: 0", "stopMarginSeconds"},
		{"a volume that several machines write", embedded, "", "persistence: {accessModes: [ReadWriteMany]}", "accessModes"},
		{"an ingress without hosts", embedded, "", "ingress: {enabled: true}", "name at least one host"},
		{"a path without a prefix", embedded, "", "ingress: {enabled: true, hosts: [a.example.com], path: /bulk}", "config.prefix=/bulk"},
		{"metrics without a key", embedded, "", "metrics: {serviceMonitor: {enabled: true}}", "an API key with the scope read"},
		{"TLS of a scrape that has none", embedded, "", "metrics: {serviceMonitor: {enabled: true, existingSecret: k, tlsConfig: {serverName: x}}}", "has no effect"},
		{"Redis without an address", redis, `addresses: ["redis:6379"], `, "", "needs the address of a server"},
		{"a password in an address", redis, "redis:6379", "weir:word@redis:6379", "addresses"},
		{"Redis without a key of the vault", redis, "vaultKey: {existingSecret: weir-vault}", "", "openssl rand -base64 32"},
		{"two users of Redis", redis, "existingSecret: weir-redis", "existingSecret: weir-redis, userKey: user", "keep one of them"},
		{"a user without a Secret", redis, "user: weir, auth: {existingSecret: weir-redis}", "auth: {userKey: user}", "name the Secret"},
		{"a spread over one server", redis, "user: weir", "spread: true", "has no effect with one address"},
		{"a certificate for Redis without TLS", redis, "user: weir", "tls: {existingSecret: redis-client}", "redis.tls.enabled=true"},
		{"KEDA without a key", redis, "", "keda: {enabled: true}", "KEDA needs an API key"},
		{"KEDA that scales to zero", redis, "", "keda: {enabled: true, existingSecret: k, minReplicas: 0}", "minReplicas"},
		{"KEDA with more than the most", redis, "", "keda: {enabled: true, existingSecret: k, minReplicas: 11}", "11 is more than keda.maxReplicas, 10"},
		{"KEDA for what runs no tasks", redis, "", "role: api\nkeda: {enabled: true, existingSecret: k}", "in the release with role worker or all"},
		{"an unchecked certificate that is not there", redis, "", "keda: {enabled: true, existingSecret: k, unsafeSsl: true}", "has no effect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := tt.base + "\n" + tt.to
			if tt.from != "" {
				if values = strings.Replace(tt.base, tt.from, tt.to, 1); values == tt.base {
					t.Fatalf("%q is not in\n%s", tt.from, tt.base)
				}
			}
			_, err := render(t, values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
