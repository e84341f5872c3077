#!/usr/bin/env bash
# A long differential run: generated filters on real, generated and damaged packets, every back end against libpcap, then
# the fuzz targets' bodies on fresh seeds, one on each processor. SECONDS_PER_TARGET=N bounds each (default 600). The seed is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
export SLUSS_FUZZ_SECONDS="${SECONDS_PER_TARGET:-600}"
export SLUSS_SEED="${SLUSS_SEED:-$(date +%s)}"
profile="${SLUSS_FUZZ_PROFILE:-release}"
echo "fuzz: ${SLUSS_FUZZ_SECONDS}s a target, SLUSS_SEED=$SLUSS_SEED"
# Of the whole workspace, so that what `make test` has compiled will do.
cargo test --profile "$profile" --workspace --test differential -- --nocapture --test-threads=1
cargo test --profile "$profile" --workspace --test fuzz_smoke -- --nocapture
