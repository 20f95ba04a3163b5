// Replaces fsync and fdatasync by a wait of FORKPOINT_SYNC_US microseconds, so that all sides of a benchmark run on a
// disk of the same speed. Counts the calls and the time that they really took in the file FORKPOINT_SYNC_FILE: two
// numbers of 64 bits, the calls and the nanoseconds. Counts the calls of statx in the same way, in two further numbers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// A sleep ends late by about as much, in nanoseconds. The rest of the wait asks the clock again and again.
enum { LATE = 20000 };

static struct { _Atomic uint64_t calls, nanoseconds; } *counted, *looks;
static uint64_t wanted;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char *us = getenv("FORKPOINT_SYNC_US"), *file = getenv("FORKPOINT_SYNC_FILE");
  int descriptor = us && file ? open(file, O_RDWR | O_CLOEXEC) : -1;
  if (descriptor < 0) abort();
  wanted = strtoull(us, NULL, 10) * 1000;
  counted = mmap(NULL, 2 * sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (counted == MAP_FAILED) abort();
  looks = counted + 1;
}

static int pause_for(void) {
  uint64_t start = now(), end = start + wanted, asleep = end - LATE;
  prctl(PR_SET_TIMERSLACK, 1);  // Otherwise a sleep ends up to 50 us later. Each thread has a setting of its own.
  if (wanted > LATE) {
    struct timespec until = {asleep / 1000000000, asleep % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  }
  while (now() < end) {
  }
  atomic_fetch_add(&counted->calls, 1);
  atomic_fetch_add(&counted->nanoseconds, now() - start);
  return 0;
}

int fsync(int descriptor) { return (void)descriptor, pause_for(); }
int fdatasync(int descriptor) { return (void)descriptor, pause_for(); }

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *found) {
  uint64_t start = now();
  int result = syscall(SYS_statx, folder, path, flags, mask, found);
  if (looks) {
    atomic_fetch_add(&looks->calls, 1);
    atomic_fetch_add(&looks->nanoseconds, now() - start);
  }
  return result;
}
