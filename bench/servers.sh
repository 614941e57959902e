# Becomes a server of the benches, with one worker or thread: sh servers.sh NAME. Any other NAME is a command; but `versions`
# tells who takes part, and `files` makes what is served over a long time, `certificate` that of TLS.
# It is told PORT; LINERATE, the program; LAB, where the files beside this one are; ROOT, CERTIFICATE and KEY, what it serves
# and with what; ANSWER and REQUEST_BYTES, what the floor answers to how many bytes.
ours() {
    command=$1
    shift
    exec "$LINERATE" "$command" --quiet --listen "$PORT" --workers 1 --sandbox "$@"
}
# A configuration with its places filled in.
fill() {
    sed "s|{port}|$PORT|; s|{root}|$ROOT|; s|{certificate}|$CERTIFICATE|; s|{key}|$KEY|; s|{listen}|$listen|" \
        "$LAB/$1" > "$1"
}
listen=127.0.0.1:$PORT
case $1 in
serve) ours serve off ;;
serve-ring) ours serve off --engine uring ;;
serve-confined) ours serve on ;;
serve-files) ours serve off --root "$ROOT" ;;
serve-tls)
    ours serve off --root "$ROOT" --tls-cert "$CERTIFICATE" --tls-key "$KEY" --tls-ciphers TLS_AES_128_GCM_SHA256
    ;;
# The same sockets and loop without a protocol. It answers so many bytes with what `serve` answers.
floor) ours echo off --request-bytes "$REQUEST_BYTES" --answer-file "$ANSWER" ;;
nginx | nginx-tls)
    [ "$1" = nginx ] || listen="$listen ssl; ssl_certificate $CERTIFICATE; ssl_certificate_key $KEY"
    fill nginx.conf
    exec nginx -p . -c nginx.conf -e error.log
    ;;
h2o-tls)
    fill h2o.conf
    exec h2o -m worker -c h2o.conf
    ;;
go-tls)
    go build -o server "$LAB/files.go" || exit
    GOMAXPROCS=1
    export GOMAXPROCS
    exec ./server "$listen" "$CERTIFICATE" "$KEY" "$ROOT"
    ;;
caddy-tls)
    fill Caddyfile
    GOMAXPROCS=1
    export GOMAXPROCS
    exec caddy run --config Caddyfile --adapter caddyfile
    ;;
versions)
    "$LINERATE" --version
    nginx -v 2>&1
    wrk -v 2>&1 | head -n 1
    curl --version | head -n 1
    h2o --version | head -n 1
    echo "caddy $(caddy version)"
    go version
    iperf3 --version | head -n 1
    /usr/sbin/trafgen --version | head -n 1
    sockperf --version | head -n 1
    echo "Linux $(uname -r)"
    ;;
files)
    # What is written to the disk meanwhile would be work beside the first laps, so all is written when it ends.
    dd if=/dev/urandom of="$ROOT/big.bin" bs=1M count=1024 conv=fsync status=none
    ;;
certificate)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$KEY" -out "$CERTIFICATE" 2> /dev/null
    ;;
*) eval "exec $1" ;;
esac
