#!/bin/sh
# Installs what the tests need besides Go, if it is missing: redis-server, whose
# program the tests start themselves. No service of the system is started.
set -eu

if command -v redis-server >/dev/null; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "redis-server 7.0 or later is missing, and the tests start it. Install it and try again, for instance:" >&2
  echo "  Debian, Ubuntu:  sudo apt-get install -y redis-server    (or: sudo make deps)" >&2
  echo "  macOS:           brew install redis" >&2
  exit 1
fi

policy=/usr/sbin/policy-rc.d # asked by every package that wants to start a service
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends redis-server >/dev/null ||
  { apt-get update >/dev/null && apt-get install -y --no-install-recommends redis-server >/dev/null; }
if command -v systemctl >/dev/null; then
  systemctl disable redis-server >/dev/null 2>&1 || true # nor at the next start of the machine
fi
redis-server --version
