/* SPDX-License-Identifier: MIT */

/* scratch.c - where do cases about files keep theirs? */

#include "conformance/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void
scratch_open(struct stage *stage, struct scratch *scratch)
{
    stage_open(stage);
    scratch_path(scratch->directory, sizeof(scratch->directory), "files");
    rgi_check(mkdtemp(scratch->directory) != NULL);
    snprintf(scratch->path, sizeof(scratch->path), "%s/file",
             scratch->directory);
    snprintf(scratch->other, sizeof(scratch->other), "%s/other",
             scratch->directory);
}

void
scratch_close(struct stage *stage, struct scratch *scratch)
{
    (void)unlink(scratch->path);
    (void)unlink(scratch->other);
    rgi_check(rmdir(scratch->directory) == 0);
    stage_close(stage);
}

/* Makes the file hold `text`, by the plain road. */
void
scratch_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    rgi_check(fd >= 0);
    rgi_check(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* Whether the file holds `text` and no more. */
bool
scratch_holds(const char *path, const char *text)
{
    char bytes[256];
    int fd = open(path, O_RDONLY);
    ssize_t count;

    rgi_check(fd >= 0);
    count = read(fd, bytes, sizeof(bytes));
    close(fd);
    return count == (ssize_t)strlen(text) &&
           memcmp(bytes, text, (size_t)count) == 0;
}

int
file_open(struct stage *stage, struct rgm_file *file, const char *path,
          uint32_t flags)
{
    struct rgm_file_open open;

    rgm_file_open(&open, HERE, file, path, flags, 0600);
    return rgm_call(stage->runtime, &open);
}

void
file_open_both(struct stage *stage, struct scratch *scratch, struct rgm_file *file)
{
    *file = (struct rgm_file){0};
    rgi_check(file_open(stage, file, scratch->path,
                        RGM_FILE_READ | RGM_FILE_WRITE | RGM_FILE_CREATE) == 0);
}

int
file_close(struct stage *stage, struct rgm_file *file)
{
    struct rgm_close close;

    rgm_file_close(&close, file);
    return rgm_call(stage->runtime, &close);
}

int
file_import(struct stage *stage, struct rgm_file *file, int descriptor)
{
    struct rgm_file_open import;

    rgm_file_import(&import, HERE, file, descriptor);
    return rgm_call(stage->runtime, &import);
}

/* The descriptor of the file that is open for writing under this path, found
 * in the table of the process. */
int
scratch_descriptor(const char *path)
{
    struct stat wanted;
    struct stat about;

    rgi_check(stat(path, &wanted) == 0);
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &about) == 0 && about.st_ino == wanted.st_ino &&
            about.st_dev == wanted.st_dev)
            return fd;
    return -1;
}
