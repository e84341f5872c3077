# Tags and tunnels: two Open vSwitch switches in user space, so that no kernel module is needed.
#
#   left --- p0 [inner] === [outer] t0 --- t0 [outer] === [inner] p0 --- right
#
# `inner` decides by OpenFlow rules what becomes of a frame from the host: tagged and passed to
# `outer` through a patch (VLAN, QinQ, MPLS), or put into a tunnel whose packets leave by `outer`,
# which has an address of its own. The recording is made on the cable between the switches (t0).
# shellcheck shell=bash disable=SC2086,SC2154 # $lab has no spaces; variables come from lab.sh

left4=192.0.2.101 right4=192.0.2.102
left6=2001:db8:6::101 right6=2001:db8:6::102

build_overlay() {
    once overlay || return 0
    local side
    for side in left leftswitch right rightswitch; do new_namespace $side; done
    # The kernel hears what arrives on t0 too; only the bridge may answer.
    on leftswitch sysctl -qw net.ipv4.conf.all.arp_ignore=1
    on rightswitch sysctl -qw net.ipv4.conf.all.arp_ignore=1
    cable left h0 leftswitch p0 7
    cable right h0 rightswitch p0 8
    cable leftswitch t0 rightswitch t0 9
    address left h0 $left4/24 $left6/64
    address right h0 $right4/24 $right6/64
    # Room for every header that goes around.
    ip -n left link set h0 mtu 1400
    ip -n right link set h0 mtu 1400
    start_switch left 203.0.113.1 203.0.113.2
    start_switch right 203.0.113.2 203.0.113.1
    daemon right overlay-web nginx -e stderr -c $lab/nginx.conf -g "pid $lab/overlay.pid;"
    eventually listening right 80
}

# switch SIDE COMMAND…: a command of Open vSwitch for that side's switch.
switch() {
    local side=$1
    shift
    OVS_RUNDIR=$lab/ovs-$side on "${side}switch" "$@"
}

start_switch() { # SIDE, the address of its outer bridge, the other side's
    local side=$1 own=$2 peer=$3 at=$lab/ovs-$1
    mkdir -p "$at"
    ovsdb-tool create "$at/conf.db" /usr/share/openvswitch/vswitch.ovsschema
    OVS_RUNDIR=$at daemon "${side}switch" "ovsdb-$side" \
        ovsdb-server "$at/conf.db" --remote="punix:$at/db.sock"
    eventually test -S "$at/db.sock"
    switch "$side" ovs-vsctl --no-wait init -- set Open_vSwitch . other_config:vlan-limit=2
    OVS_RUNDIR=$at daemon "${side}switch" "ovs-$side" ovs-vswitchd "unix:$at/db.sock"
    switch "$side" ovs-vsctl --timeout=20 \
        -- add-br outer -- set bridge outer datapath_type=netdev \
        other-config:hwaddr="02:00:5e:10:01:0${own##*.}" \
        -- add-br inner -- set bridge inner datapath_type=netdev fail_mode=secure \
        -- add-port outer t0 \
        -- add-port outer to-inner \
        -- set interface to-inner type=patch options:peer=to-outer \
        -- add-port inner to-outer \
        -- set interface to-outer type=patch options:peer=to-inner ofport_request=2 \
        -- add-port inner p0 -- set interface p0 ofport_request=1 \
        -- add-port inner gre0 \
        -- set interface gre0 type=gre options:remote_ip="$peer" ofport_request=3 \
        -- add-port inner vxlan0 \
        -- set interface vxlan0 type=vxlan options:remote_ip="$peer" options:key=5000 ofport_request=4 \
        -- add-port inner geneve0 \
        -- set interface geneve0 type=geneve options:remote_ip="$peer" options:key=7000 ofport_request=5
    address "${side}switch" outer "$own/24"
    ip -n "${side}switch" link set outer up
}

# rules RULE…: what both inner switches do from now on; what no rule names is dropped.
rules() {
    local side
    for side in left right; do
        printf '%s\n' "$@" >$lab/rules
        switch $side ovs-ofctl -O OpenFlow13 --bundle replace-flows inner $lab/rules
    done
}

overlay_capture() { # FILE, then the rules
    local file=$1
    shift
    start_web
    build_overlay
    rules "$@"
    ip -n left neigh flush dev h0
    ip -n right neigh flush dev h0
    eventually on left ping -c 1 -W 1 $right4
    ip -n left neigh flush dev h0
    capture_start "$file" leftswitch t0
    on leftswitch ping -q -c 2 -i 0.2 203.0.113.2 >/dev/null # beside it, bare
    chatter $right4 $right6 left
    capture_stop
}

scene_vlan() {
    overlay_capture vlan.pcap \
        'in_port=1,actions=push_vlan:0x8100,set_field:4106->vlan_vid,output:2' \
        'in_port=2,dl_vlan=10,actions=pop_vlan,output:1'
}

# A customer's VLAN 100 inside the provider's VLAN 20. (The field's bit 12 says that there is a tag.)
scene_qinq() {
    local outer='push_vlan:0x88a8,set_field:4116->vlan_vid,output:2'
    overlay_capture qinq.pcap \
        "in_port=1,actions=push_vlan:0x8100,set_field:4196->vlan_vid,$outer" \
        'in_port=2,dl_vlan=20,actions=pop_vlan,resubmit(,1)' \
        'table=1,dl_vlan=100,actions=pop_vlan,output:1'
}

# Two labels, the outer one 1000; the inner one tells IPv4 (100) from IPv6 (600). ARP goes bare.
scene_mpls() {
    local outer='push_mpls:0x8847,set_field:1000->mpls_label,output:2'
    overlay_capture mpls.pcap \
        'in_port=1,arp,actions=output:2' \
        'in_port=2,arp,actions=output:1' \
        "in_port=1,ip,actions=push_mpls:0x8847,set_field:100->mpls_label,$outer" \
        "in_port=1,ipv6,actions=push_mpls:0x8847,set_field:600->mpls_label,$outer" \
        'in_port=2,mpls,mpls_label=1000,mpls_bos=0,actions=pop_mpls:0x8847,resubmit(,1)' \
        'table=1,mpls,mpls_label=100,actions=pop_mpls:0x0800,output:1' \
        'table=1,mpls,mpls_label=600,actions=pop_mpls:0x86dd,output:1'
}

tunnel_capture() { # FILE, the number of the tunnel's port
    overlay_capture "$1" "in_port=1,actions=output:$2" "in_port=$2,actions=output:1"
}

scene_gre() { tunnel_capture gre.pcap 3; }
scene_vxlan() { tunnel_capture vxlan.pcap 4; }
scene_geneve() { tunnel_capture geneve.pcap 5; }
