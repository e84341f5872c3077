# The laboratory: three namespaces in a row, names, and the means to record between them.
#
#   client ---- LAN ---- router ---- WAN ---- server
#     c0  192.0.2.0/24   r0  r1  198.51.100.0/24  s0
#         2001:db8:1::/64        2001:db8:2::/64
#
# Every address, name and link-layer address is from the ranges set aside for documentation or is
# locally administered. The server has one address for each service, so that filters on hosts and
# filters on ports can be told apart.
# shellcheck shell=bash disable=SC2086,SC2154,SC2164,SC2206 # $lab has no spaces; set -e is on

lab=/run/sluss-record
names=(shell:22 mail:25 media:35 ns:53 tracker:69 www:80 time:123)

on() { ip netns exec "$@"; }

# The arguments' command in NAMESPACE, in the background, its output kept for the day it fails.
daemon() {
    local namespace=$1 label=$2
    shift 2
    # Not through `on`: the process to be signalled later must be $! itself, not a shell around it.
    ip netns exec "$namespace" "$@" >"$lab/$label.log" 2>&1 </dev/null &
    disown
}

# Retries a command for ten seconds: services take a moment to listen.
eventually() {
    for _ in {1..100}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    say "still failing after 10 s: $*"
    tail -n 5 "$lab"/*.log >&2
    return 1
}

listening() { on "$1" ss -Hln "sport = :$2" | grep -q .; }

new_namespace() {
    ip netns add "$1"
    on "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
        net.ipv6.conf.default.accept_ra=0 net.ipv6.icmp.ratelimit=0 net.ipv4.icmp_ratelimit=0
    ip -n "$1" link set lo up
}

# cable NS_A IF_A NS_B IF_B NUMBER: a veth pair that computes its checksums before the tap sees them.
cable() {
    ip -n "$1" link add name "$2" address "02:00:5e:10:00:${5}a" type veth \
        peer name "$4" address "02:00:5e:10:00:${5}b" netns "$3"
    local end
    for end in "$1 $2" "$3 $4"; do
        set -- $end
        on "$1" ethtool -K "$2" tx off tso off gso off gro off >/dev/null
        ip -n "$1" link set "$2" up
    done
}

address() { # NAMESPACE INTERFACE ADDRESS/LENGTH…
    local namespace=$1 interface=$2 prefix
    shift 2
    for prefix in "$@"; do ip -n "$namespace" address add "$prefix" dev "$interface"; done
}

build_scratch() {
    mount -t tmpfs -o mode=755 tmpfs /run
    mount -t tmpfs -o mode=755 tmpfs /var/log # sshd would note its logins there
    mkdir -p $lab/files /run/netns /run/sshd
    hostname client.example.com
    printf 'nameserver 198.51.100.53\n' >$lab/resolv.conf
    printf 'hosts: files dns\npasswd: files\ngroup: files\nservices: files\n' >$lab/nsswitch.conf
    printf '127.0.0.1 localhost\n::1 localhost\n' >$lab/hosts
    local file target
    for file in resolv.conf nsswitch.conf hosts; do
        # Often a link into /run, which is empty by now.
        target=$(readlink -m /etc/$file)
        if [[ $target == /run/* ]]; then install -D /dev/null "$target"; fi
        mount --bind $lab/$file "$target"
    done
    # No habits of the machine's user may reach the recording (.curlrc, .bashrc, .ssh/config).
    export HOME=$lab/home LC_ALL=C TZ=UTC
    mkdir -p $HOME
    cd $lab
}

build_lab() {
    out=$1
    build_scratch
    local namespace name
    for namespace in client router server; do new_namespace $namespace; done
    cable client c0 router r0 1
    cable router r1 server s0 2
    address client c0 192.0.2.10/24 2001:db8:1::10/64
    address router r0 192.0.2.1/24 2001:db8:1::1/64
    address router r1 198.51.100.1/24 2001:db8:2::1/64
    address server s0 198.51.100.20/24 2001:db8:2::20/64
    for name in "${names[@]}"; do
        address server s0 198.51.100.${name#*:}/24 2001:db8:2::${name#*:}/64
    done
    on router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
    ip -n client route add default via 192.0.2.1
    ip -n client route add default via 2001:db8:1::1
    ip -n server route add default via 198.51.100.1
    ip -n server route add default via 2001:db8:2::1
    make_payloads
    start_dns
    eventually on client ping -c 1 -W 1 198.51.100.20
    eventually on client ping -c 1 -W 1 2001:db8:2::20
}

# payload BYTES SEED: the same incompressible bytes every time.
payload() {
    openssl enc -aes-128-ctr -nosalt -K "$(printf %032x "$2")" -iv "$(printf %032x 0)" \
        -in <(head -c "$1" /dev/zero)
}

make_payloads() {
    local line
    mkdir -p $lab/www
    for line in {1..120}; do printf '<p>line %d of the page</p>\n' "$line"; done >$lab/www/index.html
    printf 'a short answer\n' >$lab/www/short.txt
    payload 6000 1 >$lab/www/picture.bin
    payload 3000 2 >$lab/files/upload.bin
}

# capture_start FILE NAMESPACE INTERFACE [TCPDUMP OPTION…]; several may run at once.
capture_start() {
    local file=$1 namespace=$2 interface=$3
    shift 3
    # Where packets may be of any size (lo, any), a small buffer holds eight of them: hence -B.
    ip netns exec "$namespace" tcpdump -i "$interface" -w "$out/$file" -Z root -U -B 32768 \
        --immediate-mode "$@" \
        2>"$lab/tcpdump.$file.log" &
    capturing+=("$!")
    eventually grep -q 'listening on' "$lab/tcpdump.$file.log"
}

# Lets the last packets arrive, ends all captures, and insists that none lost a packet.
capture_stop() {
    sleep 0.4
    kill -TERM "${capturing[@]}"
    wait "${capturing[@]}"
    capturing=()
    if grep -h 'dropped by kernel' "$lab"/tcpdump.*.log | grep -qv '^0 packets'; then
        say "the kernel dropped packets of a capture: the machine is too busy, record again"
        grep 'dropped by kernel' "$lab"/tcpdump.*.log >&2
        return 1
    fi
}
capturing=()

# Nothing that names this machine or its directories may stand in a file we publish.
check_secrecy() {
    local file word words=("$here" /tmp/ $lab)
    # A name of three letters occurs by chance in anything that is encrypted.
    ((${#machine_name} < 4)) || words+=("$machine_name")
    for file in "$1"/*.pcap* ; do
        for word in "${words[@]}"; do
            if unpacked_bytes "$file" | grep -aqF -- "$word"; then
                say "$file mentions '$word'"
                return 1
            fi
        done
    done
}

unpacked_bytes() {
    case $1 in
        *.gz) gzip -dc "$1" ;;
        *.zst) zstd -qdc "$1" ;;
        *) cat "$1" ;;
    esac
}
