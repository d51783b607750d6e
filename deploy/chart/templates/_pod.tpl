{{/* Variables of the container. All of them are settings of weir serve, except REDIS_USER. */}}
{{- define "weir.env" -}}
- {name: WEIR_LISTEN, value: ":8080"}
- {name: WEIR_ADMIN_LISTEN, value: {{ ternary ":8081" "127.0.0.1:8081" .Values.adminService.enabled | quote }}}
- {name: WEIR_DATA, value: /var/lib/weir}
- {name: WEIR_DRAIN, value: {{ printf "%ds" (int .Values.drainSeconds) }}}
{{- if .Values.adminKey.enabled }}
- {name: WEIR_ADMIN_KEY_FILE, value: {{ printf "/etc/weir/admin-key/%s" .Values.adminKey.key }}}
{{- end }}
{{- if .Values.vaultKey.existingSecret }}
- {name: WEIR_VAULT_KEY_FILE, value: {{ printf "/etc/weir/vault-key/%s" .Values.vaultKey.key }}}
{{- end }}
{{- if .Values.tls.proxy }}
- {name: WEIR_TLS_PROXY, value: "true"}
{{- else }}
- {name: WEIR_TLS_CERT, value: /etc/weir/tls/tls.crt}
- {name: WEIR_TLS_KEY, value: /etc/weir/tls/tls.key}
{{- end }}
{{- if eq .Values.store "redis" }}
- {name: WEIR_ROLE, value: {{ .Values.role }}}
{{- include "weir.env.redis" . }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "weir.env.redis" -}}
{{- $r := .Values.redis -}}
{{- $user := $r.user -}}
{{- if $r.auth.userKey }}
- name: REDIS_USER
  valueFrom: {secretKeyRef: {name: {{ $r.auth.existingSecret }}, key: {{ $r.auth.userKey }}}}
{{- $user = "$(REDIS_USER)" -}}
{{- end }}
{{- $urls := list -}}
{{- range $r.addresses -}}
{{- $urls = append $urls (printf "%s://%s%s%s" (ternary "rediss" "redis" $r.tls.enabled) (ternary (printf "%s@" $user) "" (ne $user "")) . (ternary (printf "?primary=%s" $r.primary) "" (ne $r.primary ""))) -}}
{{- end }}
- {name: WEIR_REDIS, value: {{ join "," $urls | quote }}}
{{- if $r.spread }}
- {name: WEIR_REDIS_SPREAD, value: "true"}
{{- end }}
{{- if $r.auth.existingSecret }}
- {name: WEIR_REDIS_PASSWORD_FILE, value: {{ printf "/etc/weir/redis/%s" $r.auth.passwordKey }}}
{{- end }}
{{- if $r.sentinel.user }}
- {name: WEIR_REDIS_SENTINEL_USER, value: {{ $r.sentinel.user | quote }}}
{{- end }}
{{- if $r.sentinel.passwordKey }}
- {name: WEIR_REDIS_SENTINEL_PASSWORD_FILE, value: {{ printf "/etc/weir/redis/%s" $r.sentinel.passwordKey }}}
{{- end }}
{{- if $r.tls.existingSecret }}
{{- if $r.tls.ca }}
- {name: WEIR_REDIS_TLS_CA, value: /etc/weir/redis-tls/ca.crt}
{{- end }}
{{- if $r.tls.clientCertificate }}
- {name: WEIR_REDIS_TLS_CERT, value: /etc/weir/redis-tls/tls.crt}
- {name: WEIR_REDIS_TLS_KEY, value: /etc/weir/redis-tls/tls.key}
{{- end }}
{{- end }}
{{- end -}}

{{/* Secrets that are mounted: name of the volume, and of the Secret. */}}
{{- define "weir.secrets" -}}
{{- $all := dict -}}
{{- if .Values.adminKey.enabled -}}{{- $_ := set $all "admin-key" .Values.adminKey.existingSecret -}}{{- end -}}
{{- if .Values.vaultKey.existingSecret -}}{{- $_ := set $all "vault-key" .Values.vaultKey.existingSecret -}}{{- end -}}
{{- if .Values.tls.existingSecret -}}{{- $_ := set $all "tls" .Values.tls.existingSecret -}}{{- end -}}
{{- if eq .Values.store "redis" -}}
{{- if .Values.redis.auth.existingSecret -}}{{- $_ := set $all "redis" .Values.redis.auth.existingSecret -}}{{- end -}}
{{- if .Values.redis.tls.existingSecret -}}{{- $_ := set $all "redis-tls" .Values.redis.tls.existingSecret -}}{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* The pod, the same for a StatefulSet and a Deployment. */}}
{{- define "weir.pod" -}}
{{- $port := "http" -}}
metadata:
  annotations:
    # Another configuration is another pod. Secrets are not part of it: after a change of a key, restart the pods.
    checksum/config: {{ include "weir.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "weir.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "weir.serviceAccount" . }}
  automountServiceAccountToken: false
  # A Service named weir would otherwise set variables that begin with WEIR_.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "weir.grace" . }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    # Always would make files in the volume writable for the group, at each start: the server refuses such a key file.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if and (eq .Values.store "redis") .Values.topologySpread }}
  topologySpreadConstraints:
    {{- range .Values.topologySpread }}
    - {{- toYaml . | nindent 6 }}
      labelSelector:
        matchLabels: {{- include "weir.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: weir
      image: {{ include "weir.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/weir/config/weir.yaml]
      env:
        {{- include "weir.env" . | nindent 8 }}
      ports:
        - {name: http, containerPort: 8080}
        {{- if .Values.adminService.enabled }}
        - {name: admin, containerPort: 8081}
        {{- end }}
      startupProbe: {{- include "weir.probe" (list . "/healthz" .Values.probes.startup) | nindent 8 }}
      livenessProbe: {{- include "weir.probe" (list . "/healthz" .Values.probes.liveness) | nindent 8 }}
      readinessProbe: {{- include "weir.probe" (list . "/readyz" .Values.probes.readiness) | nindent 8 }}
      {{- if .Values.preStopSeconds }}
      lifecycle: {preStop: {sleep: {seconds: {{ int .Values.preStopSeconds }}}}}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      {{- with .Values.resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: config, mountPath: /etc/weir/config, readOnly: true}
        - {name: data, mountPath: /var/lib/weir}
        - {name: tmp, mountPath: /tmp}
        {{- range $name, $_ := fromYaml (include "weir.secrets" .) }}
        - {name: {{ $name }}, mountPath: /etc/weir/{{ $name }}, readOnly: true}
        {{- end }}
        {{- range $i, $name := .Values.secretFiles }}
        - {name: secret-{{ $i }}, mountPath: {{ printf "/etc/weir/secrets/%s" $name }}, readOnly: true}
        {{- end }}
  volumes:
    - {name: config, configMap: {name: {{ include "weir.fullname" . }}}}
    - {name: tmp, emptyDir: {}}
    {{- if eq .Values.store "redis" }}
    - {name: data, emptyDir: {}}
    {{- else if .Values.persistence.existingClaim }}
    - {name: data, persistentVolumeClaim: {claimName: {{ .Values.persistence.existingClaim }}}}
    {{- end }}
    # Mode 0440: the server refuses secrets that every user can read.
    {{- range $name, $secret := fromYaml (include "weir.secrets" .) }}
    - {name: {{ $name }}, secret: {secretName: {{ $secret }}, defaultMode: 288}}
    {{- end }}
    {{- range $i, $name := .Values.secretFiles }}
    - {name: secret-{{ $i }}, secret: {secretName: {{ $name }}, defaultMode: 288}}
    {{- end }}
{{- end -}}

{{- define "weir.probe" -}}
{{- $top := index . 0 -}}
httpGet: {path: {{ index . 1 }}, port: http, scheme: {{ include "weir.scheme" $top | upper }}}
{{ toYaml (index . 2) }}
{{- end -}}
