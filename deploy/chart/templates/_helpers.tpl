{{- define "policy-bridge.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of all objects: the release's name, with the chart's name unless it is part of it. */}}
{{- define "policy-bridge.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "policy-bridge.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "policy-bridge.selectorLabels" -}}
app.kubernetes.io/name: {{ include "policy-bridge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "policy-bridge.labels" -}}
{{ include "policy-bridge.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "policy-bridge.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "policy-bridge.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where none is made (serviceAccount.create: false)" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image by its digest, else by its tag: (dict "image" .Values.image "tag" "…"). */}}
{{- define "policy-bridge.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .tag .image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "policy-bridge.certificateSecret" -}}
{{- if eq .Values.webhook.certificate.source "Secret" -}}
{{- required "webhook.certificate.secretName is needed with source: Secret" .Values.webhook.certificate.secretName -}}
{{- else -}}
{{- printf "%s-webhook" (include "policy-bridge.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* The Secrets of the views by the volume that has each. */}}
{{- define "policy-bridge.viewsSecrets" -}}
{{- if .Values.views.enabled -}}
{{- $own := printf "%s-views" (include "policy-bridge.fullname" .) -}}
{{- dict "views" (default $own .Values.views.credentialsSecret) "views-tls" .Values.views.tlsSecret "views-tokens" .Values.views.tokensSecret | toYaml -}}
{{- end -}}
{{- end -}}

{{- define "policy-bridge.registrySecret" -}}
{{- if .Values.views.enabled -}}{{ .Values.views.registrySecret }}{{- end -}}
{{- end -}}

{{/* Not empty if the release serves admission. */}}
{{- define "policy-bridge.webhook" -}}
{{- if and .Values.webhook.enabled (ne .Values.profile "observe") }}true{{ end -}}
{{- end -}}

{{/* The source of the certificate. A release that has one by Helm keeps it when cert-manager is installed later. */}}
{{- define "policy-bridge.certificateSource" -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace (include "policy-bridge.certificateSecret" .) -}}
{{- if .Values.webhook.certificate.source -}}
{{- .Values.webhook.certificate.source -}}
{{- else if eq (dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $secret) "Helm" -}}
Helm
{{- else if .Capabilities.APIVersions.Has "cert-manager.io/v1" -}}
CertManager
{{- else -}}
Helm
{{- end -}}
{{- end -}}

{{/* The settings of the bridge: settings from the chart, overridden by the values. */}}
{{- define "policy-bridge.settings" -}}
{{- $name := include "policy-bridge.fullname" . -}}
{{- $made := dict
  "opa_url" "unix:///run/policy-bridge/opa.sock"
  "bundle_credentials" "/run/policy-bridge-credentials/bundle"
  "listen" "127.0.0.1:8282"
  "probe_listen" "[::]:8080"
  "lease_namespace" .Release.Namespace
  "lease_name" $name
  "policy_namespaces" .Values.policyNamespaces
  "log_format" "json"
  "shutdown_drain" .Values.drainSeconds
  "shutdown_grace" (add .Values.drainSeconds .Values.terminationSeconds) -}}
{{- if eq .Values.profile "observe" -}}
{{- $_ := set $made "read_only" true -}}
{{- end -}}
{{- if .Values.opa.readers.enabled -}}
{{- $_ := set $made "opa_token_file" "/etc/policy-bridge/opa-token/token" -}}
{{- $_ := set $made "opa_readers" "/etc/policy-bridge/opa-readers" -}}
{{- end -}}
{{- if .Values.views.enabled -}}
{{- $_ := set $made "publish_listen" "[::]:8484" -}}
{{- $_ := set $made "publish_credentials" "/etc/policy-bridge/views" -}}
{{- $_ := set $made "publish_cert_file" "/etc/policy-bridge/views-tls/tls.crt" -}}
{{- $_ := set $made "publish_key_file" "/etc/policy-bridge/views-tls/tls.key" -}}
{{- if .Values.views.tokensSecret -}}
{{- $_ := set $made "publish_tokens" "/etc/policy-bridge/views-tokens" -}}
{{- end -}}
{{- end -}}
{{- if include "policy-bridge.webhook" . -}}
{{- $_ := set $made "webhook_listen" "[::]:8443" -}}
{{- $_ := set $made "webhook_service" (printf "%s/%s" .Release.Namespace $name) -}}
{{- $_ := set $made "webhook_configuration" $name -}}
{{- $_ := set $made "webhook_decision" .Values.webhook.decision -}}
{{- $_ := set $made "webhook_deadline" .Values.webhook.timeoutSeconds -}}
{{- if .Values.webhook.clientCertificates.configMap -}}
{{- $_ := set $made "webhook_client_ca_file" "/etc/policy-bridge/clients/ca.crt" -}}
{{- $_ := set $made "webhook_client_names" .Values.webhook.clientCertificates.commonNames -}}
{{- end -}}
{{- $_ := set $made "webhook_cert_file" "/etc/policy-bridge/certificate/tls.crt" -}}
{{- $_ := set $made "webhook_key_file" "/etc/policy-bridge/certificate/tls.key" -}}
{{- end -}}
{{- toYaml (mergeOverwrite $made (deepCopy .Values.settings)) -}}
{{- end -}}

{{/* OPA's configuration; with readers it requires tokens. */}}
{{- define "policy-bridge.opaConfig" -}}
{{- if .Values.opa.readers.enabled -}}
{{- .Files.Get "files/opa-guarded.yaml" -}}
{{- else -}}
{{- .Files.Get "files/opa.yaml" -}}
{{- end -}}
{{- end -}}

{{/* 80% of a memory limit in Mi or Gi, as GOMEMLIMIT; empty for other units. */}}
{{- define "policy-bridge.goMemoryLimit" -}}
{{- $unit := regexFind "[MG]i$" (toString .) -}}
{{- if $unit -}}
{{ mulf (trimSuffix $unit . | float64) (ternary 819.2 0.8 (eq $unit "Gi")) | int }}MiB
{{- end -}}
{{- end -}}
