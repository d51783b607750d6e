{{/* Refuses values that contradict each other: each message names the value and what to write instead. */}}
{{- define "weir.checks" -}}
{{- $v := .Values -}}
{{- $redis := eq $v.store "redis" -}}
{{- if and (eq .Chart.AppVersion "0.0.0") (not $v.image.tag) (not $v.image.digest) -}}
{{- fail "image.tag: this chart is not of a release; name the image to run, as in image.tag=v1.2.3" -}}
{{- end -}}
{{- if and (not $redis) (ne (int $v.replicas) 1) -}}
{{- fail (printf "replicas: %d pods cannot share the embedded store; use replicas 1, or store redis" (int $v.replicas)) -}}
{{- end -}}
{{- if and (not $redis) (ne $v.role "all") -}}
{{- fail (printf "role: %s needs a store that other nodes can reach; use role all, or store redis" $v.role) -}}
{{- end -}}
{{- if and (not $redis) $v.redis.addresses -}}
{{- fail "redis.addresses: not used by store embedded; set store redis, or leave them out" -}}
{{- end -}}
{{- if and $redis (not $v.redis.addresses) -}}
{{- fail "redis.addresses: store redis needs the address of a server, as in [redis:6379]" -}}
{{- end -}}
{{- if and $redis (not $v.vaultKey.existingSecret) -}}
{{- fail "vaultKey.existingSecret: pods that share a Redis need the same key; make one: kubectl create secret generic weir-vault --from-literal=vault-key=\"$(openssl rand -base64 32)\"" -}}
{{- end -}}
{{- if and $v.adminKey.enabled (not $v.adminKey.existingSecret) -}}
{{- fail "adminKey.existingSecret: the server needs an API key; make one: kubectl create secret generic weir-admin --from-literal=admin-key=\"$(openssl rand -hex 32)\"; or, if keys exist in its store, set adminKey.enabled=false" -}}
{{- end -}}
{{- if not (or $v.tls.existingSecret $v.tls.proxy) -}}
{{- fail "tls: other machines can reach the server, and without TLS the API keys would be sent unencrypted; set tls.existingSecret, or tls.proxy=true if a proxy in front terminates TLS" -}}
{{- end -}}
{{- if and $v.tls.existingSecret $v.tls.proxy -}}
{{- fail "tls.proxy: tls.existingSecret is set, too; keep one of them" -}}
{{- end -}}
{{- include "weir.checks.redis" . -}}
{{- include "weir.checks.config" . -}}
{{- include "weir.checks.extras" . -}}
{{- end -}}

{{- define "weir.checks.redis" -}}
{{- $r := .Values.redis -}}
{{- if and $r.user $r.auth.userKey -}}
{{- fail "redis.user: redis.auth.userKey is set, too; keep one of them" -}}
{{- end -}}
{{- if and (or $r.auth.userKey $r.sentinel.passwordKey) (not $r.auth.existingSecret) -}}
{{- fail "redis.auth.existingSecret: name the Secret that has redis.auth.userKey and redis.sentinel.passwordKey" -}}
{{- end -}}
{{- if and $r.spread (lt (len $r.addresses) 2) -}}
{{- fail "redis.spread: has no effect with one address; name several servers in redis.addresses" -}}
{{- end -}}
{{- if and $r.tls.existingSecret (not $r.tls.enabled) -}}
{{- fail "redis.tls.existingSecret: set redis.tls.enabled=true, too" -}}
{{- end -}}
{{- end -}}

{{/* Keys of weir.yaml that the chart sets. */}}
{{- define "weir.checks.config" -}}
{{- $instead := dict "listen" "service.port" "admin_listen" "adminService.enabled" "data" "persistence" "role" "role" "drain" "drainSeconds" "redis" "redis.addresses" "redis_spread" "redis.spread" "redis_password_file" "redis.auth" "redis_sentinel_user" "redis.sentinel.user" "redis_sentinel_password_file" "redis.sentinel.passwordKey" "redis_tls" "redis.tls" "tls" "tls" "vault_key_file" "vaultKey" "admin_key_file" "adminKey" -}}
{{- range $key, $_ := .Values.config -}}
{{- if hasKey $instead $key -}}
{{- fail (printf "config.%s: the chart sets this; use the value %s" $key (get $instead $key)) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.store "embedded") (eq (toString .Values.config.durability) "replicated") -}}
{{- fail "config.durability: the embedded store has no replicas; use disk, or store redis" -}}
{{- end -}}
{{- if and (ne .Values.ingress.path "/") .Values.ingress.enabled (ne (toString .Values.config.prefix) (trimSuffix "/" .Values.ingress.path)) -}}
{{- fail (printf "ingress.path: links of the pages need the path, too; set config.prefix=%s" (trimSuffix "/" .Values.ingress.path)) -}}
{{- end -}}
{{- end -}}

{{- define "weir.checks.extras" -}}
{{- $v := .Values -}}
{{- range $v.extraEnv -}}
{{- if regexMatch "^WEIR_(CONFIG|LISTEN|ADMIN_LISTEN|DATA|DRAIN|ROLE|REDIS.*|TLS_.*|VAULT_KEY.*|ADMIN_KEY.*)$" .name -}}
{{- fail (printf "extraEnv: the chart sets %s; use its values" .name) -}}
{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.hosts: name at least one host, as in [weir.example.com]" -}}
{{- end -}}
{{- with $v.keda -}}
{{- if .enabled -}}
{{- if ne $v.store "redis" -}}
{{- fail "keda.enabled: the embedded store allows one pod; use store redis" -}}
{{- end -}}
{{- if eq $v.role "api" -}}
{{- fail "keda.enabled: desired_nodes counts nodes that run tasks; enable KEDA in the release with role worker or all" -}}
{{- end -}}
{{- if not .existingSecret -}}
{{- fail "keda.existingSecret: KEDA needs an API key with the scope read; name the Secret that has it" -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "keda.minReplicas: %d is more than keda.maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- if and .unsafeSsl (not $v.tls.existingSecret) -}}
{{- fail "keda.unsafeSsl: has no effect without tls.existingSecret; leave it out" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $v.metrics.serviceMonitor -}}
{{- if and .enabled (not .existingSecret) -}}
{{- fail "metrics.serviceMonitor.existingSecret: metrics need an API key with the scope read; name the Secret that has it" -}}
{{- end -}}
{{- if and .enabled .tlsConfig (not $v.tls.existingSecret) -}}
{{- fail "metrics.serviceMonitor.tlsConfig: has no effect without tls.existingSecret; leave it out" -}}
{{- end -}}
{{- end -}}
{{- $_ := required "files/alerts.yaml: the chart is not complete; take it from a release, or with docs/ beside deploy/" (.Files.Get "files/alerts.yaml") -}}
{{- end -}}
