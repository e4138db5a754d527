/* SPDX-License-Identifier: MIT */
#ifndef KV_DRIVER_H
#define KV_DRIVER_H

/*
 * kv_driver.h - how do the stresses start a server, and talk to it?
 */

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cases.h"

static int port; /* of the server */

__attribute__((unused)) static redisContext *
connected(void)
{
    struct timeval limit = {RGI_CASE_LIMIT_S, 0};
    redisContext *client = redisConnectWithTimeout("127.0.0.1", port, limit);

    rgi_check(client != NULL && client->err == 0);
    rgi_check(redisSetTimeout(client, limit) == REDIS_OK);
    return client;
}

__attribute__((unused)) static uint64_t
random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

__attribute__((unused)) static long long
number_of(const redisReply *reply)
{
    char *end;
    long long number;

    rgi_check(reply != NULL && reply->type == REDIS_REPLY_STRING);
    number = strtoll(reply->str, &end, 10);
    rgi_check(*end == '\0');
    return number;
}

/* Returns its process, once it listens. Exits when it cannot be had. */
static pid_t
start_server(char **command)
{
    int ends[2];
    char line[256];
    FILE *output;
    pid_t pid;
    int status;

    rgi_check(pipe(ends) == 0);
    pid = fork();
    rgi_check(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(command[0], command);
        _exit(127);
    }
    close(ends[1]);
    output = fdopen(ends[0], "r");
    rgi_check(output != NULL);
    if (fgets(line, sizeof(line), output) == NULL) {
        rgi_check(waitpid(pid, &status, 0) == pid);
        exit(WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 77 : 1);
    }
    rgi_check(strrchr(line, ':') != NULL);
    port = (int)strtol(strrchr(line, ':') + 1, NULL, 10);
    fclose(output);
    return pid;
}

static void
stop_server(pid_t pid)
{
    int status;

    rgi_check(kill(pid, SIGTERM) == 0);
    rgi_check(waitpid(pid, &status, 0) == pid);
    rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif /* KV_DRIVER_H */
