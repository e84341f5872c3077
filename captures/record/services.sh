# The servers. Each is a real program with the smallest configuration that gives it something to say;
# each start_… may be called by several scenes and starts its server once.
# shellcheck shell=bash disable=SC2086,SC2154 # $lab has no spaces; variables come from lab.sh

declare -A started=()

once() { # NAME: succeeds the first time only
    [[ ! ${started[$1]-} ]] && started[$1]=yes
}

start_dns() {
    local name number
    {
        printf 'no-resolv\nno-hosts\nuser=root\nbind-interfaces\nlocal=/#/\nedns-packet-max=4096\n'
        printf 'listen-address=198.51.100.53,2001:db8:2::53\npid-file=\n'
        for name in "${names[@]}"; do
            printf 'host-record=%s.example.com,198.51.100.%d,2001:db8:2::%d\n' \
                "${name%:*}" "${name#*:}" "${name#*:}"
        done
        printf 'cname=web.example.com,www.example.com\n'
        printf 'mx-host=example.com,mail.example.com,10\n'
        printf 'srv-host=_ntp._udp.example.com,time.example.com,123\n'
        printf 'txt-record=example.com,"v=spf1 mx -all"\n'
        # Eight records of 250 bytes: too long for plain UDP, and for one Ethernet frame.
        for number in {1..8}; do printf 'txt-record=long.example.com,%0250d\n' "$number"; done
    } >$lab/dnsmasq.conf
    daemon server dns dnsmasq --keep-in-foreground --conf-file=$lab/dnsmasq.conf
    eventually listening server 53
}

start_web() {
    once web || return 0
    write_web_files
    daemon server nginx nginx -e stderr -c $lab/nginx.conf -g "pid $lab/nginx.pid;"
    eventually listening server 80
    eventually listening server 1935
}

write_web_files() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
        -subj /CN=www.example.com -addext subjectAltName=DNS:www.example.com,DNS:localhost \
        -keyout $lab/tls.key -out $lab/tls.crt 2>/dev/null
    cat >$lab/nginx.conf <<CONF
user root;
worker_processes 1;
daemon off;
load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
events { worker_connections 128; }
http {
    access_log off;
    client_body_temp_path $lab/body;
    proxy_temp_path $lab/proxy;
    fastcgi_temp_path $lab/fastcgi;
    scgi_temp_path $lab/scgi;
    uwsgi_temp_path $lab/uwsgi;
    server {
        listen 80;
        listen [::]:80;
        listen 443 ssl http2;
        listen [::]:443 ssl http2;
        server_name www.example.com;
        ssl_certificate $lab/tls.crt;
        ssl_certificate_key $lab/tls.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        root $lab/www;
        location /form { return 200 "thank you\n"; }
        location /old { return 301 /short.txt; }
    }
}
rtmp {
    access_log off;
    server {
        listen 1935;
        application live { live on; }
    }
}
CONF
}

start_ssh() {
    once ssh || return 0
    ssh-keygen -q -t ed25519 -N '' -C '' -f $lab/host.key
    ssh-keygen -q -t ed25519 -N '' -C '' -f $lab/user.key
    cp $lab/user.key.pub $lab/authorized
    cat >$lab/sshd.conf <<CONF
HostKey $lab/host.key
AuthorizedKeysFile $lab/authorized
PermitRootLogin yes
StrictModes no
UsePAM no
PermitTunnel yes
PrintMotd no
PidFile none
CONF
    daemon server sshd "$(command -v sshd)" -D -e -f $lab/sshd.conf
    eventually listening server 22
}

# What `ssh` needs to know here, before its own arguments.
ssh_client() {
    on client ssh -F none -i $lab/user.key -o StrictHostKeyChecking=no -o LogLevel=ERROR \
        -o UserKnownHostsFile=$lab/known -l root "$@"
}

start_smtp() {
    once smtp || return 0
    start_web # for its certificate
    local address
    for address in 198.51.100.25 2001:db8:2::25; do
        daemon server "smtp-${address##*[.:]}${#address}" unshare --uts sh -c \
            "hostname mail.example.com; exec /usr/bin/python3 -m aiosmtpd -n -s 1000000 \
             -c aiosmtpd.handlers.Sink --tlscert $lab/tls.crt --tlskey $lab/tls.key \
             --no-requiretls -l '$address:25'"
    done
    eventually on client bash -c '</dev/tcp/198.51.100.25/25'
    eventually on client bash -c '</dev/tcp/2001:db8:2::25/25'
}

start_ntp() {
    once ntp || return 0
    cat >$lab/chrony-server.conf <<CONF
local stratum 8
allow all
bindaddress 198.51.100.123
bindaddress 2001:db8:2::123
cmdport 0
bindcmdaddress /
pidfile $lab/chrony-server.pid
CONF
    # -x: answers from the machine's clock and never sets it.
    daemon server chronyd chronyd -x -u root -d -f $lab/chrony-server.conf
    eventually listening server 123
}
