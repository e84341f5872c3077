# Two commands to know: `make run` shows what sluss is, `make test` proves that it is right.
.PHONY: help run test lint docs bench fuzz models miri neon soak gallery notices static package packages packages-dpdk clean
.DEFAULT_GOAL := help
SHELL := /bin/bash

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 22

run:             ## build sluss, filter a real capture, explain a filter, run a network of apps, race tcpdump
	@scripts/demo.sh

packages:        ## install the Debian packages that tests and benchmarks use, where allowed
	@scripts/install-packages.sh

packages-dpdk:   ## install DPDK, some 200 packages: the app `dpdk`, and peers of benchmarks
	@scripts/install-packages.sh scripts/apt-packages-dpdk.txt

test: packages   ## unit, table, golden, differential and fuzz-smoke tests
	cargo test --workspace

lint:            ## formatting, clippy, the architecture's rules, documentation warnings
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo xtask tidy
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

docs:            ## the reference of every crate, under target/doc
	cargo doc --workspace --no-deps

bench:           ## measure against peers in one run; prints ratios, writes bench/out/
	@scripts/install-packages.sh
	cargo build --release --quiet -p sluss -p bench
	$${CARGO_TARGET_DIR:-target}/release/bench $(BENCH)

fuzz:            ## a long differential run against libpcap (SECONDS_PER_TARGET=600), seed printed
	@scripts/install-packages.sh
	@scripts/fuzz.sh

models:          ## what crosses threads, in every order, under loom
	CARGO_TARGET_DIR=target/loom RUSTFLAGS="--cfg loom" cargo test -p sluss-engine -p sluss-classify --release --lib models

miri:            ## packet memory, rings, tables and the front of the compiler under Miri, where a nightly toolchain has it
	@scripts/miri.sh

neon:            ## the look-ups' vector instructions of 64-bit ARM, in an emulator, where there is one (qemu-user)
	@scripts/neon.sh

soak:            ## ten minutes of packets through graphs that change every second
	SLUSS_SOAK_SECONDS=$${SECONDS_TO_SOAK:-600} cargo test --release -p sluss-apps --test soak

gallery:         ## common filters from syntax tree to machine code, as pages of the book
	cargo xtask gallery

notices:         ## the licences of the crates that sluss is built from, THIRD-PARTY.md
	cargo xtask notices

static:          ## a sluss that needs no shared library, for any Linux on x86-64
	@scripts/install-packages.sh
	@scripts/static.sh

package:         ## the crates as a registry takes them, under target/package
	cargo package --workspace --no-verify --allow-dirty --quiet --exclude sluss-testkit --exclude bench --exclude xtask

clean:           ## remove what was built
	cargo clean
