#!/usr/bin/env bash
# `make neon`: the vector instructions of 64-bit ARM, which look-ups are made of, run by an emulator: that they answer as the other
# instruction sets do. Says so, and ends well, where the target or the emulator cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-musl
skip() { echo "SKIPPED: NEON: $1" >&2; exit 0; }

sysroot=$(rustc --print sysroot)
if ! [ -d "$sysroot/lib/rustlib/$target/lib" ]; then
    command -v rustup >/dev/null || skip "there is no rustup to get the target $target with"
    rustup target add "$target" >/dev/null 2>&1 || skip "rustup cannot get the target $target"
fi
command -v qemu-aarch64 >/dev/null || skip "qemu-aarch64 is missing (sudo apt-get install qemu-user)"

# Rust's own linker knows all architectures, and the target brings what a program begins with.
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=$(find "$sysroot" -name rust-lld | head -n 1)
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64
cargo test --package sluss-table --package sluss-classify --target "$target" --lib --tests
