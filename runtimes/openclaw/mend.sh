#!/bin/sh
# What is changed of OpenClaw's package, in its folder, when the image is built. Fails where a new
# version does not have exactly what is changed here.
set -eu
cd "$1"

# mend FROM TO FILE...: one line, in each of the files.
mend() {
  from=$1 to=$2
  shift 2
  for file in "$@"; do
    test "$(grep -cxF "$from" "$file")" = 1
    awk -v from="$from" -v to="$to" '$0 == from { $0 = to } { print }' "$file" > "$file.new"
    cat "$file.new" > "$file"
    rm "$file.new"
  done
}

# On a busy host the first worker of a start needs longer than the 5 s it is given; the lease it
# waits for has a limit of its own.
mend 'const LEASE_HEARTBEAT_START_TIMEOUT_MS = 5e3;' \
  'const LEASE_HEARTBEAT_START_TIMEOUT_MS = 12e4;' \
  dist/state/openclaw-state-lease-heartbeat.worker.js \
  dist/openclaw-state-lease-heartbeat-shared-*.mjs

# A refused key is not used for up to ten minutes, so that another takes its turn, and a new one in
# its place neither. Our agents have one key: whoever mends it must not wait.
mend '	return normalized === "openrouter" || normalized === "kilocode";' '	return true;' \
  dist/usage-state-*.mjs

# Types and source maps are for its developers. The two bundles are for rented machines.
find .. -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete
rm dist/worker/worker.mjs dist/worker/sqlite-store.worker.mjs
