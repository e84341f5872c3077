#!/usr/bin/env bash
# `make static`: a sluss that needs no shared library, and runs on any Linux of this processor. Says so, and ends well, where the target or
# its C compiler cannot be had. PROFILE=dev builds faster, for a look whether it builds and runs.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-musl
profile=${PROFILE:-release}
skip() { echo "SKIPPED: the static build: $1" >&2; exit 0; }

[ "$(uname -m)" = x86_64 ] || skip "this processor is not an x86-64"
if ! rustc --print sysroot | xargs -I{} test -d "{}/lib/rustlib/$target/lib"; then
    command -v rustup >/dev/null || skip "there is no rustup to get the target $target with"
    rustup target add "$target" >/dev/null 2>&1 || skip "rustup cannot get the target $target"
fi
command -v musl-gcc >/dev/null || skip "musl-gcc is missing, which zstd is compiled with (sudo apt-get install musl-tools)"

cargo build --quiet --profile "$profile" --target "$target" --package sluss
folder=$profile
[ "$profile" = dev ] && folder=debug
sluss=${CARGO_TARGET_DIR:-target}/$target/$folder/sluss
# A program that is linked to shared libraries names the loader that finds them.
if head -c 4096 "$sluss" | grep -q 'ld-linux\|ld-musl'; then
    echo "$sluss is not static: $(ldd "$sluss" 2>&1)" >&2
    exit 1
fi
count=$("$sluss" filter --count 'tcp port 80' captures/mixed.pcap)
here=$(grep -c . <<<"$("$sluss" filter --lines 'tcp port 80' captures/mixed.pcap)")
[ "$count" = "$here" ] || { echo "$sluss counts $count packets and prints $here" >&2; exit 1; }
"$sluss" run examples/tee.toml | tail -n 1
"$sluss" run examples/lua/counters.lua
echo "static: $sluss ($(du -h "$sluss" | cut -f1))"
