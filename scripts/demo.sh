#!/usr/bin/env bash
# `make run`: what sluss is, in a minute, on a capture that is in the repository. Needs no root and no network.
set -euo pipefail
cd "$(dirname "$0")/.."
capture=captures/mixed.pcap
sluss=${CARGO_TARGET_DIR:-target}/release/sluss

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'; fi

say()    { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
prompt() { printf '%s$%s sluss %s\n' "$dim" "$plain" "$*"; }
head_of() { local lines=$1; shift; "$@" | { head -n "$lines"; cat >/dev/null; }; }

say "Building sluss (the first time takes a minute or two) …"
# SLUSS_DEMO_WITH names other packages to build: features are chosen for all that are built at once, so `make bench` would compile sluss again.
# shellcheck disable=SC2086
cargo build --release --quiet --package sluss ${SLUSS_DEMO_WITH:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "Packets of $capture that match a filter, one line each"
prompt "filter --lines 'tcp port 80 or arp' $capture"
head_of 8 "$sluss" filter --lines 'tcp port 80 or arp' "$capture"
echo "…"

say "Counts: several filters, one pass"
prompt "filter --count $capture -f ip6 -f 'port 53' -f 'net in {192.0.2.0/24, 2001:db8::/32}' -f 'tcp[tcpflags] & tcp-syn != 0'"
"$sluss" filter --count "$capture" -f ip6 -f 'port 53' -f 'net in {192.0.2.0/24, 2001:db8::/32}' -f 'tcp[tcpflags] & tcp-syn != 0'

say "What a filter means"
prompt "explain 'tcp port 80 and not host 192.0.2.1'"
"$sluss" explain 'tcp port 80 and not host 192.0.2.1'

say "What it becomes: machine code, each instruction with the words it came from"
prompt "compile 'tcp port 80'"
head_of 14 "$sluss" compile 'tcp port 80'
echo "…"

say "A mistake"
prompt "filter --count 'tcp prot 80' $capture"
"$sluss" filter 'tcp prot 80' "$capture" --count || true

say "A network of apps, described in a file; every packet is accounted for"
prompt "run examples/tee.toml"
"$sluss" run examples/tee.toml

say "What the flows speak, by what they say and not by their ports; then a firewall by it"
prompt "wall spy pcap $capture --tsv"
"$sluss" wall spy pcap "$capture" --tsv
prompt "wall filter -p -e \"{ HTTP = 'reject', default = 'accept' }\" pcap $capture"
"$sluss" wall filter -p -e "{ HTTP = 'reject', default = 'accept' }" pcap "$capture"

# The CPU time of a command, in seconds: the least of five runs, since others use the machine too.
best_of_five() {
    local TIMEFORMAT='%U %S' times=()
    for _ in 1 2 3 4 5; do times+=("$( { time "$@" >/dev/null 2>&1; } 2>&1 )"); done
    printf '%s\n' "${times[@]}" | awk '{ t = $1 + $2; if (NR == 1 || t < least) least = t } END { printf "%.3f", least }'
}

if command -v tcpdump >/dev/null; then
    say "The race: the same work for tcpdump and sluss, CPU seconds, the best of five"
    # Long enough for a clock that counts milliseconds.
    copies=(); for _ in $(seq 1500); do copies+=("$capture"); done
    "$sluss" filter '' "${copies[@]}" -q -o "$work/big.pcap"
    tcpdump_s=$(best_of_five tcpdump -r "$work/big.pcap" -w "$work/tcpdump.pcap" 'tcp port 80')
    sluss_s=$(best_of_five "$sluss" filter 'tcp port 80' "$work/big.pcap" -q -o "$work/sluss.pcap")
    cmp "$work/tcpdump.pcap" "$work/sluss.pcap" || { echo "the outputs differ, which should never be" >&2; exit 1; }
    awk -v size="$(du -m "$work/big.pcap" | cut -f1)" -v t="$tcpdump_s" -v s="$sluss_s" 'BEGIN {
        if (s < 0.001) s = 0.001
        told = t / s > 1.1 ? sprintf("%.1f times faster", t / s) : "not faster on this machine now"
        printf "  tcpdump -r big.pcap -w out.pcap \047tcp port 80\047      %.2f s\n", t
        printf "  sluss filter \047tcp port 80\047 big.pcap -o out.pcap    %.2f s   %s (%d MB, byte for byte the same output)\n", s, told, size
    }'
else
    say "tcpdump is not installed, so there is no race (sudo apt-get install tcpdump)"
fi
say "More: $sluss help, README.md, and make test"
