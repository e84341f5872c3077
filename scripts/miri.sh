#!/usr/bin/env bash
# The parts that Miri can run, which sees what no other test does: reads of memory that nobody has written, two owners of one byte, races that
# happened to end well. It knows no machine code, no vectors and no shared memory, and is a thousand times slower than the processor: what
# takes it minutes is left out, here by name or in the tests themselves (`cfg!(miri)`).
set -euo pipefail
cd "$(dirname "$0")/.."
toolchain="${MIRI_TOOLCHAIN:-nightly}"
if ! cargo "+$toolchain" miri --version >/dev/null 2>&1; then
    echo "SKIPPED: no Miri: rustup toolchain install $toolchain --component miri --component rust-src" >&2
    exit 0
fi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri" MIRIFLAGS="${MIRIFLAGS:--Zmiri-disable-isolation}" PROPTEST_CASES=2
step() { printf '== %s (%ss since start)\n' "$1" "$SECONDS"; }
miri() { cargo "+$toolchain" miri test --quiet --package "sluss-$1" --lib -- "${@:2}"; }

step "table: lookups that compiled code embeds"
miri table
step "flow: the table of flows"
miri flow table:: tcp::
step "engine: packet memory, rings, timers"
miri engine --skip memory_stays pool:: link:: timer:: worker::rest
# A pool that goes while a packet is out leaves its memory behind, on purpose.
MIRIFLAGS="$MIRIFLAGS -Zmiri-ignore-leaks" miri engine memory_stays
step "wire: views of headers that are cut anywhere"
miri wire ip:: tunnel:: ether:: arp:: vlan:: ndp:: mac::
step "decide: graphs"
miri decide ir::tests::listing ir::tests::guards ir::tests::dominators opt::domain
step "pflang: from text to tree"
miri pflang syntax::lex diag::tests::two_places
printf '== Miri has found nothing in %ss\n' "$SECONDS"
