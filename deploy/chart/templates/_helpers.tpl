{{/* Names and labels. */}}
{{- define "weir.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "weir.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "weir.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "weir.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "weir.selector" -}}
app.kubernetes.io/name: {{ include "weir.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- end -}}

{{- define "weir.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "weir.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "weir.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default (printf "v%s" .Chart.AppVersion)) -}}
{{- end -}}
{{- end -}}

{{- define "weir.scheme" -}}
{{- if .Values.tls.existingSecret -}}https{{- else -}}http{{- end -}}
{{- end -}}

{{/* How long a pod may take to stop: the kubelet counts the pause before the signal, too. */}}
{{- define "weir.grace" -}}
{{- add .Values.preStopSeconds .Values.drainSeconds .Values.stopMarginSeconds -}}
{{- end -}}

{{/* weir.yaml: config, and the names under which the cluster reaches the server, if names are restricted. */}}
{{- define "weir.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if $config.allowed_hosts -}}
{{- $own := list -}}
{{- range $name := list (include "weir.fullname" .) (printf "%s-admin" (include "weir.fullname" .)) -}}
{{- range $end := list "" (printf ".%s" $.Release.Namespace) (printf ".%s.svc" $.Release.Namespace) (printf ".%s.svc.%s" $.Release.Namespace $.Values.clusterDomain) -}}
{{- $own = append $own (print $name $end) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "allowed_hosts" (concat $config.allowed_hosts $own | uniq) -}}
{{- end -}}
{{- if $config -}}
{{- toYaml $config -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}
