#!/bin/sh
# Builds the image without a daemon and without a base image from a registry: build-image.sh [NAME]
set -eu
cd "$(dirname "$0")/.."
name=${1:-localhost/weir:dev}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
sh deploy/image.sh "$root"
c=$(buildah from --format docker scratch)
trap 'rm -rf "$root"; buildah rm "$c" >/dev/null' EXIT
buildah copy --quiet "$c" "$root/" / >/dev/null
mkdir "$root/empty"
buildah copy --quiet --chown 65532:65532 "$c" "$root/empty" /var/lib/weir >/dev/null
buildah config --user 65532:65532 --volume /var/lib/weir --port 8080 --stop-signal SIGTERM \
  --env WEIR_DATA=/var/lib/weir --env WEIR_LISTEN=:8080 --entrypoint '["/usr/bin/weir"]' --cmd serve \
  --healthcheck 'CMD /usr/bin/weir health --server http://127.0.0.1:8080' --healthcheck-interval 10s --healthcheck-timeout 5s \
  --healthcheck-start-period 30s --healthcheck-retries 3 "$c"
buildah commit --quiet --format docker --timestamp 0 "$c" "$name"
