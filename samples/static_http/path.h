/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_PATH_H
#define STATIC_HTTP_PATH_H

/*
 * path.h - which file does a request target mean, and what kind of file is it?
 *
 * The path is relative, has no empty, "." or ".." segment, and none that begins
 * with a dot but ".well-known": what is hidden is not served. That it does not
 * lead out of the directory by a symbolic link either is seen to where it is
 * opened.
 */

#include <stdbool.h>
#include <stddef.h>

#define PATH_MAX_BYTES 1024

/*
 * Makes a path of a target ("/a%20b/?x" -> "a b/index.html"; an absolute URI is
 * taken for its path). Room: PATH_MAX_BYTES.
 * Returns: 0, or the status to answer: 400 not a target, 404 hidden or too long.
 */
int path_from_target(const char *target, size_t target_bytes, char *ret_path);

/* The media type of a path, by its ending. */
const char *path_media_type(const char *path);

#endif /* STATIC_HTTP_PATH_H */
