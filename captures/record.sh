#!/bin/bash
# record.sh [--install] [--only SCENE[,SCENE…]] [DIRECTORY]
#
# Records the captures of this directory afresh, from real programs that talk to each other in
# network namespaces, and writes what they hold into contents.toml and README.md beside them.
#
# It needs root, and cannot disturb the machine it runs on: the second half of this script runs in
# its own network, mount, process and host-name namespaces. No real interface exists there, nothing
# outlives the script, and whatever is written outside DIRECTORY lands on a file system in memory.
# Running it again simply records again; counts and times differ a little from run to run, which is
# why contents.toml is written by the same run.
#
# Exit codes: 0 recorded, 1 a scene failed, 2 wrong usage, 3 root or a program is missing.
set -eEuo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
seconds_max=900
# chrony would displace the machine's own time daemon, so --install only unpacks it here.
unpacked=/var/cache/sluss-record

packages=(aria2 bind9-dnsutils busybox curl dnsmasq-base ethtool ffmpeg iproute2 iputils-arping
    iputils-ping libio-socket-inet6-perl libnet-ssleay-perl libnginx-mod-rtmp nginx-light opentracker openssh-client openssh-server openssl
    openvswitch-switch python3 python3-aiosmtpd swaks tcpdump traceroute transmission-cli
    wireshark-common zstd)
programs=(aria2c arping busybox chronyd curl dig dnsmasq dumpcap ethtool ffmpeg ip nginx openssl
    opentracker ovs-vsctl ovs-vswitchd ovsdb-server ping ssh sshd swaks tcpdump traceroute
    transmission-cli transmission-create unshare zstd)
scenes=(web tls dns dhcp ntp ssh smtp bittorrent rtmp icmp fragments lan loopback cooked raw
    pcapng vlan qinq mpls gre vxlan geneve mixed)

say() { printf 'record.sh: %s\n' "$*" >&2; }
refuse() { say "$2"; exit "$1"; }

install_packages() {
    # Daemons must not start on this machine just because their packages arrive.
    local policy=/usr/sbin/policy-rc.d ours=
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
        ours=yes
    fi
    apt-get update -q &&
        DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
            --no-upgrade "${packages[@]}"
    local status=$?
    if [[ $ours ]]; then rm -f $policy; fi
    ((status == 0)) || return $status
    mkdir -p $unpacked
    (cd $unpacked && apt-get download -q chrony && dpkg -x chrony_*.deb . && rm chrony_*.deb)
}

check_requirements() {
    local program missing=()
    for program in "${programs[@]}"; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    [[ -e /usr/lib/nginx/modules/ngx_rtmp_module.so ]] || missing+=(ngx_rtmp_module.so)
    /usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || missing+=(python3-aiosmtpd)
    [[ -c /dev/net/tun ]] || refuse 3 "this kernel offers no /dev/net/tun (CONFIG_TUN)"
    ((${#missing[@]} == 0)) && return
    say "missing: ${missing[*]}"
    refuse 3 "run '$0 --install', which unpacks chrony (installed, it would displace the time daemon)
and does: apt-get install --no-install-recommends --no-upgrade ${packages[*]}"
}

# Starts this script again, without the user's environment, where it can harm nothing; the kernel ends every process in there with it.
isolate() {
    exec timeout --foreground --kill-after=5 $seconds_max \
        unshare --net --uts --mount --ipc --pid --fork --kill-child --mount-proc \
        --propagation private -- env -i PATH="$PATH" machine_name="$(hostname)" \
        "${BASH_SOURCE[0]}" --isolated "$1" "$2"
}

record_scenes() {
    local out=$1 only=$2 scene=
    trap 'say "scene $scene: failed in ${FUNCNAME[0]}, called on line ${BASH_LINENO[0]} of ${BASH_SOURCE[1]##*/}"' ERR
    source "$here/record/lab.sh"
    source "$here/record/services.sh"
    source "$here/record/scenes.sh"
    source "$here/record/overlay.sh"
    trap 'exit 130' INT TERM
    build_lab "$out"
    for scene in ${only//,/ }; do
        say "scene: $scene"
        "scene_$scene"
    done
    check_secrecy "$out"
    /usr/bin/python3 -B "$here/record/describe.py" "$out"
    chown -R --reference="$out" "$out"/*.pcap* "$out/contents.toml"
}

main() {
    export PATH=$PATH:/usr/sbin:/sbin:$unpacked/usr/sbin
    if [[ ${1-} == --isolated ]]; then
        record_scenes "$2" "$3"
        return
    fi
    local only scene out=$here install=
    only=$(IFS=,; echo "${scenes[*]}")
    while (($#)); do
        case $1 in
            --install) install=yes ;;
            --only) only=${2:?--only needs a list of scenes}; shift ;;
            -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; return ;;
            -*) refuse 2 "unknown option $1 (see --help)" ;;
            *) out=$1 ;;
        esac
        shift
    done
    for scene in ${only//,/ }; do
        [[ " ${scenes[*]} " == *" $scene "* ]] || refuse 2 "no scene '$scene'; there are: ${scenes[*]}"
    done
    ((EUID == 0)) || refuse 3 "needs root, to make network namespaces: sudo $0"
    if [[ $install ]]; then install_packages || refuse 3 "the packages could not be installed"; fi
    check_requirements
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
    [[ $out/ != /run/* && $out/ != /var/log/* ]] ||
        refuse 2 "$out would be hidden: inside, /run and /var/log are empty file systems in memory"
    isolate "$out" "$only"
}

main "$@"
