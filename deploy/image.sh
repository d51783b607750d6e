#!/bin/sh
# Fills a directory with all that the image has: image.sh DIR. A change of the sources is the only thing that changes it.
set -eu
out=$1
mkdir -p "$out/usr/bin" "$out/etc/ssl/certs" "$out/usr/share/zoneinfo" "$out/var/lib" "$out/tmp"
CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out/usr/bin/weir" ./cmd/weir
for certs in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
  if [ -f "$certs" ]; then
    cp "$certs" "$out/etc/ssl/certs/ca-certificates.crt"
    break
  fi
done
if [ ! -f "$out/etc/ssl/certs/ca-certificates.crt" ]; then
  echo "error: there are no certificates of public authorities" >&2
  echo "fix:   install the package ca-certificates" >&2
  exit 1
fi
cp "$(go env GOROOT)/lib/time/zoneinfo.zip" "$out/usr/share/zoneinfo/zoneinfo.zip"
echo 'weir:x:65532:65532:weir:/var/lib/weir:/sbin/nologin' >"$out/etc/passwd"
echo 'weir:x:65532:' >"$out/etc/group"
chmod 1777 "$out/tmp"
