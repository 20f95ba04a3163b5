// Makes a folder a small disk for the programs that this library is loaded into: a call that would make the files of
// FORKPOINT_DISK larger than FORKPOINT_DISK_BYTES in all fails with ENOSPC. Needs no rights, unlike a mount.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long long limit, used;
/// How much this process may write before it measures the folder again.
static long long budget;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FORKPOINT_DISK"), *bytes = getenv("FORKPOINT_DISK_BYTES");
  if (!path || !bytes || !realpath(path, folder)) abort();
  strncat(folder, "/", sizeof folder - strlen(folder) - 1);
  limit = atoll(bytes);
}

static int measure(const char *path, const struct stat *status, int kind, struct FTW *where) {
  (void)path, (void)where;
  if (kind == FTW_F) used += status->st_size;
  return 0;
}

/// Whether the disk has no room for `length` bytes at `offset`, or at the descriptor's position if `offset` is negative.
static int full(int descriptor, off_t offset, size_t length) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  if (offset < 0)
    offset = fcntl(descriptor, F_GETFL) & O_APPEND ? status.st_size : lseek(descriptor, 0, SEEK_CUR);
  long long grows = offset + (long long)length - status.st_size;
  if (grows <= 0) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t end = readlink(link, path, sizeof path - 1);
  if (end < 0 || strncmp(path, folder, strlen(folder)) != 0) return 0;
  if (grows > budget) {
    used = 0;
    nftw(folder, measure, 16, FTW_PHYS);
    // Other processes write too, so less than what is free.
    budget = (limit - used) / 16;
    if (grows > limit - used) return errno = ENOSPC;
  }
  budget -= grows;
  return 0;
}

static size_t lengthOf(const struct iovec *parts, int count) {
  size_t length = 0;
  while (count-- > 0) length += parts[count].iov_len;
  return length;
}

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

ssize_t write(int to, const void *bytes, size_t length) {
  return full(to, -1, length) ? -1 : NEXT(write)(to, bytes, length);
}
ssize_t writev(int to, const struct iovec *parts, int count) {
  return full(to, -1, lengthOf(parts, count)) ? -1 : NEXT(writev)(to, parts, count);
}

#define AT(pwrite, pwritev, posix_fallocate, fallocate)                                       \
  ssize_t pwrite(int to, const void *bytes, size_t length, off_t offset) {                    \
    return full(to, offset, length) ? -1 : NEXT(pwrite)(to, bytes, length, offset);           \
  }                                                                                           \
  ssize_t pwritev(int to, const struct iovec *parts, int count, off_t offset) {               \
    return full(to, offset, lengthOf(parts, count)) ? -1 : NEXT(pwritev)(to, parts, count, offset); \
  }                                                                                           \
  int posix_fallocate(int of, off_t offset, off_t length) {                                   \
    return full(of, offset, length) ? ENOSPC : NEXT(posix_fallocate)(of, offset, length);     \
  }                                                                                           \
  int fallocate(int of, int mode, off_t offset, off_t length) {                               \
    return full(of, offset, length) ? -1 : NEXT(fallocate)(of, mode, offset, length);         \
  }

AT(pwrite, pwritev, posix_fallocate, fallocate)
AT(pwrite64, pwritev64, posix_fallocate64, fallocate64)
