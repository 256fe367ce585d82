/*
 * Makes one flush of an LMDB data file fail, for a process that loads this with LD_PRELOAD: the next fsync or
 * fdatasync of a file named data.mdb while the file that FAIL_FLUSH_FILE names exists, which is removed then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int must_fail(int descriptor) {
  const char *trigger = getenv("FAIL_FLUSH_FILE");
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (trigger == NULL || length < 0) return 0;
  path[length] = 0;
  size_t size = strlen("/data.mdb");
  if ((size_t)length < size || strcmp(path + length - size, "/data.mdb") != 0) return 0;
  return unlink(trigger) == 0;
}

int fdatasync(int descriptor) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  if (!must_fail(descriptor)) return real(descriptor);
  errno = EIO;
  return -1;
}

int fsync(int descriptor) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  if (!must_fail(descriptor)) return real(descriptor);
  errno = EIO;
  return -1;
}
