#!/bin/sh
# SPDX-License-Identifier: MIT
#
# server_nginx.sh - what does nginx do with the same requests?
#
#     bench_server_nginx PORT
#
# One process that answers "hello" from its configuration. What it needs to be told lies beside this program, one file per port.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
config=$here/bench_nginx_$1.conf
cat >"$config" <<END
daemon off;
master_process off;
worker_processes 1;
pid $here/bench_nginx_$1.pid;
error_log /dev/null;
events { worker_connections 4096; }
http {
    access_log off;
    client_body_temp_path $here/bench_nginx;
    proxy_temp_path $here/bench_nginx;
    fastcgi_temp_path $here/bench_nginx;
    uwsgi_temp_path $here/bench_nginx;
    scgi_temp_path $here/bench_nginx;
    keepalive_requests 1000000000;
    default_type text/plain;
    server {
        listen 127.0.0.1:$1;
        location / { return 200 "hello\n"; }
    }
}
END
exec nginx -c "$config" -e /dev/null
