# The scenes: what is said, and where it is listened to. One function for each name in record.sh.
# shellcheck shell=bash disable=SC2086,SC2154 # $lab has no spaces; variables come from lab.sh

get() { on client curl -sS -o /dev/null --max-time 20 "$@"; }
ask() { on client dig +time=2 +tries=2 "$@" >/dev/null; }

# The neighbours forget each other, so that the next packet starts with ARP or a solicitation.
forget_neighbours() {
    ip -n client neigh flush dev c0
    ip -n router neigh flush dev r0
}

# A little of everything through whatever lies between; `$1` and `$2` are the far end's addresses.
chatter() {
    on "${3:-client}" ping -q -c 2 -i 0.2 "$1" >/dev/null
    on "${3:-client}" ping -q -c 2 -i 0.2 "$2" >/dev/null
    on "${3:-client}" curl -sS -o /dev/null --max-time 20 "http://$1/index.html"
    on "${3:-client}" curl -sS -o /dev/null --max-time 20 "http://[$2]/short.txt"
}

scene_web() {
    start_web
    capture_start web.pcap router r0
    forget_neighbours
    get -4 http://www.example.com/
    get -6 http://www.example.com/
    get -4 -L http://www.example.com/old
    get -4 --data 'name=sluss&colour=blue' http://www.example.com/form
    get -6 --data-binary @$lab/files/upload.bin http://www.example.com/form
    get -4 -I http://www.example.com/missing
    # One connection, three requests.
    get -6 http://www.example.com/picture.bin -o /dev/null http://www.example.com/short.txt \
        -o /dev/null http://www.example.com/short.txt
    capture_stop
}

scene_tls() {
    start_web
    capture_start tls.pcap router r0
    get -4 --cacert $lab/tls.crt --tls-max 1.2 https://www.example.com/
    get -6 --cacert $lab/tls.crt --tls-max 1.2 --http1.1 https://www.example.com/short.txt
    get -4 --cacert $lab/tls.crt --tlsv1.3 https://www.example.com/
    get -6 --cacert $lab/tls.crt --tlsv1.3 --http1.1 https://www.example.com/short.txt
    # A client that does not trust the certificate says so with an alert.
    get -4 https://www.example.com/ 2>/dev/null || true
    capture_stop
}

scene_dns() {
    local type
    capture_start dns.pcap router r0
    for type in A AAAA HTTPS; do ask www.example.com $type; done
    ask -6 @2001:db8:2::53 www.example.com AAAA
    ask -6 @2001:db8:2::53 web.example.com A
    ask example.com MX
    ask example.com TXT
    ask _ntp._udp.example.com SRV
    ask -x 198.51.100.80
    ask -x 2001:db8:2::80
    ask no-such-name.example.com
    ask +noedns www.example.com
    ask +notcp +noedns long.example.com TXT # comes back truncated, and dig asks again over TCP
    ask +tcp -6 @2001:db8:2::53 long.example.com TXT
    capture_stop
    zstd -qf --rm "$out/dns.pcap"
}

# A network of its own, where nobody has an address yet.
scene_dhcp() {
    new_namespace guest
    cable guest g0 router r2 3
    address router r2 203.0.113.1/24 2001:db8:3::1/64
    on guest sysctl -qw net.ipv6.conf.g0.accept_ra=2
    cat >$lab/dhcp.sh <<'SCRIPT'
#!/bin/sh
[ "$1" = bound ] && ip address replace "$ip/24" dev "$interface"
exit 0
SCRIPT
    chmod +x $lab/dhcp.sh
    capture_start dhcp.pcap router r2
    daemon router dhcp dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --user=root \
        --pid-file= --leasefile-ro --interface=r2 --bind-dynamic --no-ping --log-dhcp \
        --dhcp-range=203.0.113.100,203.0.113.150,120 --dhcp-option=option:ntp-server,198.51.100.123 \
        --dhcp-host=02:00:5e:10:00:3a,203.0.113.100,guest --domain=example.com \
        --dhcp-range=2001:db8:3::,ra-stateless,64,120 --enable-ra
    eventually listening router 67
    ip -n guest link set g0 down
    ip -n guest link set g0 up
    # Leases, renews when told (USR1), releases (USR2).
    daemon guest udhcpc busybox udhcpc -f -i g0 -s $lab/dhcp.sh -x hostname:guest -t 3 -T 1
    local client=$!
    eventually leased 203.0.113.100
    on guest ping -q -c 2 -i 0.2 203.0.113.1 >/dev/null
    sleep 1
    kill -USR1 $client
    sleep 1
    kill -USR2 $client
    sleep 1
    kill $client
    capture_stop
}

leased() { on guest ip address show dev g0 | grep -q "inet $1/"; }

scene_ntp() {
    start_ntp
    local server
    capture_start ntp-nano.pcap router r0 --time-stamp-precision=nano
    for server in 198.51.100.123 2001:db8:2::123; do
        on client timeout 30 chronyd -Q -x -u root -t 15 -f /dev/null \
            "pidfile $lab/chrony-client.pid" "cmdport 0" "bindcmdaddress /" \
            "server $server iburst maxsamples 4" >/dev/null 2>&1
    done
    capture_stop
}

scene_ssh() {
    start_ssh
    capture_start ssh.pcap router r0
    ssh_client -4 shell.example.com 'seq 1 100'
    # Keystrokes of an interactive session, one small packet each.
    { for word in e c h o ' ' h i; do printf %s "$word"; sleep 0.05; done; printf '\nexit\n'; } |
        ssh_client -6 -tt shell.example.com env -i PS1='$ ' sh
    capture_stop
} >/dev/null

send_mail() { # SWAKS OPTION…
    on client swaks --silent 2 --ehlo client.example.com --from alice@example.com \
        --to bob@example.org --server mail.example.com --header 'Subject: test' \
        --header 'Message-Id: <1@client.example.com>' "$@"
}

scene_smtp() {
    start_smtp
    capture_start smtp.pcap router r0
    send_mail -4 --body 'A short message.'
    send_mail -6 --body "$(seq 1 400)"
    send_mail -4 --tls --body 'A message nobody can read.'
    capture_stop
    gzip -nf9 "$out/smtp.pcap"
}

# A file goes from transmission to aria2, who find each other through opentracker.
scene_bittorrent() {
    local seed=$lab/seed leech=$lab/leech
    mkdir -p $seed $leech $lab/transmission $lab/tracker
    payload 32768 3 >$seed/album.bin
    transmission-create -o $lab/album.torrent -t http://tracker.example.com:6969/announce \
        -s 16 $seed/album.bin >/dev/null
    printf '{"dht-enabled":false,"lpd-enabled":false,"utp-enabled":false,"pex-enabled":true}' \
        >$lab/transmission/settings.json
    # Debian's opentracker serves only the torrents that it is told of.
    transmission-show $lab/album.torrent | sed -n 's/^ *Hash: //p' >$lab/tracker/allowed
    daemon server opentracker opentracker -i 198.51.100.69 -p 6969 -P 6969 -d $lab/tracker -w allowed
    eventually listening server 6969
    capture_start bittorrent.pcap router r0
    daemon server transmission transmission-cli -g $lab/transmission -w $seed -p 51413 -M -et \
        $lab/album.torrent
    eventually tracker_knows_a_seed
    on client timeout 90 aria2c -q --enable-dht=false --enable-dht6=false --bt-enable-lpd=false \
        --listen-port=6881 --seed-time=0 --bt-tracker-interval=2 --dir=$leech $lab/album.torrent
    capture_stop
    cmp $seed/album.bin $leech/album.bin
}

tracker_knows_a_seed() {
    local hash
    hash=$(sed 's/../%&/g' $lab/tracker/allowed)
    on server curl -s --max-time 2 "http://198.51.100.69:6969/scrape?info_hash=$hash" |
        grep -aq '8:completei1e'
}

# A second and a half of a test picture with a tone, published by one ffmpeg and watched by another.
scene_rtmp() {
    start_web
    local url=rtmp://media.example.com/live/picture
    capture_start rtmp.pcap router r0
    on client timeout 30 ffmpeg -v error -re -f lavfi -i testsrc=size=96x64:rate=8 -f lavfi \
        -i sine=frequency=440 -t 1.5 -c:v flv1 -b:v 40k -g 8 -c:a aac -b:a 16k -ac 1 \
        -f flv $url </dev/null &
    local publisher=$!
    sleep 0.8
    # The watcher would wait for more for ever: it leaves when the publisher has.
    daemon client watcher timeout --foreground 30 ffmpeg -v error -i $url -c copy -f null -
    local watcher=$!
    wait $publisher
    kill $watcher
    capture_stop
}

scene_icmp() {
    local ping="on client ping -q -i 0.2 -c"
    capture_start icmp.pcap router r0
    {
        forget_neighbours
        $ping 4 198.51.100.20
        $ping 4 2001:db8:2::20
        $ping 2 -s 0 198.51.100.20
        $ping 2 -R 198.51.100.20           # record route: an IPv4 header of 60 bytes
        $ping 2 -T tsandaddr 198.51.100.20 # time stamps: another
        $ping 2 -t 1 198.51.100.20 || true # time exceeded, from the router
        $ping 2 -t 1 2001:db8:2::20 || true
        on client traceroute -n -q 1 -w 1 198.51.100.20
        on client traceroute -n -q 1 -w 1 2001:db8:2::20
        on client traceroute -n -I -q 1 -w 1 198.51.100.20
        on client dig +tries=1 +time=1 @198.51.100.80 -p 5353 example.com || true # port unreachable
        on client dig +tries=1 +time=1 @2001:db8:2::80 -p 5353 example.com || true
        $ping 1 -W 4 198.51.100.99 || true # nobody there: host unreachable
        $ping 1 -W 4 2001:db8:2::99 || true
        $ping 1 203.0.113.77 || true # no such network
        # A narrow link behind the router: fragmentation needed, packet too big.
        ip -n router link set r1 mtu 1400
        $ping 1 -M 'do' -s 1472 198.51.100.20 || true
        $ping 1 -M 'do' -s 1452 2001:db8:2::20 || true
        ip -n router link set r1 mtu 1500
        ip -n client route flush cache
        ip -n client -6 route flush cache
    } >/dev/null 2>&1
    capture_stop
}

scene_fragments() {
    capture_start fragments.pcap router r0
    on client ping -q -i 0.2 -c 2 -s 3000 198.51.100.20 >/dev/null
    on client ping -q -i 0.2 -c 2 -s 3000 2001:db8:2::20 >/dev/null
    ask +bufsize=4096 +ignore long.example.com TXT
    ask +bufsize=4096 +ignore -6 @2001:db8:2::53 long.example.com TXT
    capture_stop
}

# What a switch port hears: ARP, spanning tree (802.3 frames with LLC), group membership.
scene_lan() {
    new_namespace switch
    new_namespace station
    ip -n switch link add name lan0 address 02:00:5e:10:00:40 type bridge stp_state 1 \
        forward_delay 200 hello_time 100
    cable station e0 switch w0 5
    cable station e1 switch w1 6
    ip -n switch link set w0 master lan0
    ip -n switch link set w1 master lan0
    address station e0 203.0.113.2/24 2001:db8:4::2/64
    capture_start lan.pcap station e0
    address switch lan0 203.0.113.1/24 2001:db8:4::1/64
    ip -n switch link set lan0 up
    sleep 5
    ip -n station address add 233.252.0.1/32 dev e0 autojoin
    ip -n station address add ff0e::db8:1/128 dev e0 autojoin || true
    {
        on station arping -c 2 -I e0 203.0.113.1
        on station arping -c 1 -U -I e0 203.0.113.2       # gratuitous
        on station arping -c 1 -w 1 -I e0 203.0.113.9 || true # nobody answers
        on station ping -q -c 2 -i 0.2 203.0.113.1
        on station ping -q -c 2 -i 0.2 2001:db8:4::1
        on station ping -q -c 2 -i 0.2 -b 203.0.113.255 || true
        on station ping -q -c 2 -i 0.2 ff02::1%e0
    } >/dev/null 2>&1
    ip -n station address del 233.252.0.1/32 dev e0
    sleep 1
    capture_stop
}

scene_loopback() {
    start_web
    capture_start loopback.pcap server lo
    chatter 127.0.0.1 ::1 server
    capture_stop
}

# The `any` device sees each forwarded packet twice, coming in and going out; recorded in both cooked forms.
scene_cooked() {
    start_web
    capture_start cooked-sll.pcap router any -y LINUX_SLL
    capture_start cooked-sll2.pcap router any -y LINUX_SLL2
    forget_neighbours
    chatter 198.51.100.80 2001:db8:2::80
    capture_stop
}

# An ssh tunnel: bare IP packets on tun0, the encrypted session around them on the wire.
open_tunnel() {
    once tunnel || return 0
    start_ssh
    start_web
    ssh_client -N -w 0:0 shell.example.com &
    eventually ip -n client link show tun0
    eventually ip -n server link show tun0
    local namespace host=1
    for namespace in client server; do
        address $namespace tun0 203.0.113.20$host/30 2001:db8:5::$host/64
        ip -n $namespace link set tun0 up
        host=$((host + 1))
    done
    eventually on client ping -c 1 -W 1 2001:db8:5::2
}

scene_raw() {
    open_tunnel
    capture_start raw.pcap client tun0
    chatter 203.0.113.202 2001:db8:5::2
    capture_stop
}

# dumpcap_while FILE NAMESPACE INTERFACE INTERFACE COMMAND…
dumpcap_while() {
    local file=$1 namespace=$2 first=$3 second=$4 log=$lab/dumpcap.log
    shift 4
    ip netns exec "$namespace" dumpcap -q -n -i "$first" -i "$second" --capture-comment "two interfaces of $namespace" \
        -w "$lab/$file" 2>$log &
    local dumpcap=$!
    eventually grep -q '^File:' $log
    sleep 0.5
    "$@"
    sleep 1
    kill -TERM $dumpcap
    wait $dumpcap
    # dumpcap writes the machine's processor and kernel into the section header.
    /usr/bin/python3 -B "$here/record/pcapng.py" anonymise "$lab/$file" "$out/$file"
}

scene_pcapng() {
    start_web
    open_tunnel
    dumpcap_while router.pcapng router r0 r1 chatter 198.51.100.80 2001:db8:2::80
    dumpcap_while tunnel.pcapng client c0 tun0 chatter 203.0.113.202 2001:db8:5::2
}

# The demonstration: many small conversations at once, as at the door of a small office.
scene_mixed() {
    start_web
    start_ssh
    start_smtp
    start_ntp
    capture_start mixed.pcap router r0
    mixed_shell &
    local shell=$! round
    for round in {1..36}; do
        mixed_round "$round" || return
    done
    wait $shell
    capture_stop
}

mixed_round() {
    get -4 http://www.example.com/short.txt
    get -6 http://www.example.com/short.txt
    (($1 % 9)) || get -4 http://www.example.com/
    (($1 % 9)) || get -6 --data 'colour=green' http://www.example.com/form
    (($1 % 6)) || get -4 --cacert $lab/tls.crt https://www.example.com/short.txt
    (($1 % 8)) || get -6 --cacert $lab/tls.crt https://www.example.com/short.txt
    (($1 % 5)) || forget_neighbours
    (($1 % 12)) || send_mail -4 --body "Message $1"
    on client ping -q -c 2 -i 0.1 198.51.100.20 >/dev/null
    on client ping -q -c 1 2001:db8:2::20 >/dev/null
    ask "name$1.example.com" || true
    ask -x 198.51.100.80
}

mixed_shell() {
    for _ in 1 2 3; do
        ssh_client -4 shell.example.com 'for i in $(seq 25); do echo $i; sleep 0.04; done'
    done
} >/dev/null
