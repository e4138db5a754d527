/* SPDX-License-Identifier: MIT */

/*
 * server_libuv.c - what does an echo cost on the loop most programs use?
 *
 *     bench_server_libuv PORT
 *
 * As one would write it for speed: a buffer per connection, a try of the write
 * at once, and a queued write only for what the socket did not take.
 */

#include "bench/bench.h"

#include <uv.h>

#define BUFFER_BYTES 65536

struct connection {
    uv_tcp_t tcp;
    char buffer[BUFFER_BYTES];
};

struct rest {
    uv_write_t write;
    char bytes[];
};

static uv_loop_t *loop;

static void
check(const char *what, int status)
{
    if (status < 0) {
        fprintf(stderr, "bench: %s: %s\n", what, uv_strerror(status));
        exit(1);
    }
}

static void
lend_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct connection *connection = handle->data;

    (void)suggested;
    *ret_buffer = uv_buf_init(connection->buffer, BUFFER_BYTES);
}

static void
closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void
rest_written(uv_write_t *write, int status)
{
    (void)status;
    free(write->data);
}

static void
write_rest(uv_stream_t *stream, const char *bytes, size_t length)
{
    struct rest *rest = malloc(sizeof(*rest) + length);
    uv_buf_t buffer;

    if (rest == NULL)
        bench_fail("write", ENOMEM);
    memcpy(rest->bytes, bytes, length);
    rest->write.data = rest;
    buffer = uv_buf_init(rest->bytes, (unsigned)length);
    check("write", uv_write(&rest->write, stream, &buffer, 1, rest_written));
}

static void
arrived(uv_stream_t *stream, ssize_t length, const uv_buf_t *received)
{
    uv_buf_t buffer;
    int written;

    if (length < 0) {
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    if (length == 0)
        return;
    buffer = uv_buf_init(received->base, (unsigned)length);
    written = uv_try_write(stream, &buffer, 1);
    if (written < 0)
        written = 0;
    if (written < length)
        write_rest(stream, received->base + written,
                   (size_t)length - (size_t)written);
}

static void
connected(uv_stream_t *listener, int status)
{
    struct connection *connection;

    if (status != 0)
        return;
    connection = malloc(sizeof(*connection));
    if (connection == NULL)
        bench_fail("connection", ENOMEM);
    check("connection", uv_tcp_init(loop, &connection->tcp));
    connection->tcp.data = connection;
    if (uv_accept(listener, (uv_stream_t *)&connection->tcp) != 0) {
        uv_close((uv_handle_t *)&connection->tcp, closed);
        return;
    }
    uv_tcp_nodelay(&connection->tcp, 1);
    uv_read_start((uv_stream_t *)&connection->tcp, lend_buffer, arrived);
}

int
main(int argc, char **argv)
{
    struct sockaddr_in address;
    uv_tcp_t listener;

    if (argc != 2) {
        fputs("usage: bench_server_libuv PORT\n", stderr);
        return 2;
    }
    bench_pin(0);
    loop = uv_default_loop();
    check("address", uv_ip4_addr("127.0.0.1",
                                 (int)bench_number(argv[1], 65535), &address));
    check("listener", uv_tcp_init(loop, &listener));
    check("bind", uv_tcp_bind(&listener, (struct sockaddr *)&address, 0));
    check("listen", uv_listen((uv_stream_t *)&listener, 1024, connected));
    return uv_run(loop, UV_RUN_DEFAULT);
}
