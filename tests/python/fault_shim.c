// Preloaded into the command by test_hostile_faults.py: a call of the C library fails, or does half
// of what it was asked for. All of it is set in the environment:
//   FAULT_CALL     its name; any: whichever it is
//   FAULT_AT       which of its calls, counted from the opening of a model or folder
//   FAULT_FROM_START  they are counted from the start of the process
//   FAULT_ERRNO    the error; 0: half the bytes are read or written
//   FAULT_FOREVER  the later calls fail as well
//   FAULT_KILL     instead of failing, the call comes after this signal to the process
//   FAULT_HIT      a file that appears when it happened
//   FAULT_PROCESSORS  how many processors the machine seems to have
//   FAULT_WITHOUT  what the system seems to lack: of the words tmpfile, openat2, renameat2, flock,
//                  linkat
//   FAULT_UNSEEN   the end of the paths that cannot be looked at, for FAULT_ERRNO
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

extern void* __libc_malloc(size_t size);

static int armed, calls;
static long (*kernel)(long, ...);

__attribute__((constructor)) static void find_kernel(void) {
  kernel = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
}

static int lacks(const char* what) {
  const char* list = getenv("FAULT_WITHOUT");
  return list != NULL && strstr(list, what) != NULL;
}

// 1 if this call is the one; errno says how it fails.
static int strikes(const char* call) {
  const char* wanted = getenv("FAULT_CALL");
  if (wanted == NULL || (!armed && getenv("FAULT_FROM_START") == NULL)) return 0;
  const int any = strcmp(wanted, "any") == 0 && strcmp(call, "malloc") != 0;
  if (!any && strcmp(wanted, call) != 0) return 0;
  const int at = atoi(getenv("FAULT_AT"));
  const int now = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (now < at || (now > at && getenv("FAULT_FOREVER") == NULL)) return 0;
  if (kernel == NULL) find_kernel();
  kernel(SYS_close, kernel(SYS_openat, AT_FDCWD, getenv("FAULT_HIT"), O_CREAT | O_WRONLY, 0666));
  const char* number = getenv("FAULT_KILL");
  if (number != NULL) {
    kernel(SYS_kill, getpid(), atoi(number));
    return 0;
  }
  errno = atoi(getenv("FAULT_ERRNO"));
  return 1;
}

static int fails(const char* call) { return strikes(call) && errno != 0; }

static int open_in(int folder, const char* path, int flags, mode_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE && lacks("tmpfile")) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return (int)kernel(SYS_openat, folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  const size_t length = strlen(path);
  armed |= (length > 5 && strcmp(path + length - 5, ".onnx") == 0) || (flags & O_DIRECTORY) != 0;
  if (strncmp(path, "/proc/", 6) != 0 && fails("open")) return -1;
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_in(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  if (fails("openat")) return -1;
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_in(folder, path, flags, mode);
}

ssize_t pread(int fd, void* to, size_t size, off_t at) {
  if (strikes("pread")) {
    if (errno != 0) return -1;
    size = (size + 1) / 2;
  }
  return kernel(SYS_pread64, fd, to, size, at);
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
  if (strikes("pwrite")) {
    if (errno != 0) return -1;
    size = (size + 1) / 2;
  }
  return kernel(SYS_pwrite64, fd, from, size, at);
}

int sync_file_range(int fd, off64_t at, off64_t size, unsigned flags) {
  return fails("sync_file_range") ? -1 : (int)kernel(SYS_sync_file_range, fd, at, size, flags);
}

int close(int fd) {
  const int strike = fails("close");
  const int reason = errno;
  const int done = (int)kernel(SYS_close, fd);
  errno = reason;
  return strike ? -1 : done;
}

int fstat(int fd, struct stat* s) {
  if (fails("fstat")) return -1;
  return ((int (*)(int, struct stat*))dlsym(RTLD_NEXT, "fstat"))(fd, s);
}

static int look(const char* call, const char* path, struct stat* s) {
  const char* end = getenv("FAULT_UNSEEN");
  const size_t length = strlen(path);
  if (end != NULL && length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0) {
    errno = atoi(getenv("FAULT_ERRNO"));
    return -1;
  }
  return ((int (*)(const char*, struct stat*))dlsym(RTLD_NEXT, call))(path, s);
}

int stat(const char* path, struct stat* s) { return look("stat", path, s); }

int lstat(const char* path, struct stat* s) { return look("lstat", path, s); }

int fsync(int fd) { return fails("fsync") ? -1 : (int)kernel(SYS_fsync, fd); }

int fallocate(int fd, int mode, off_t at, off_t size) {
  return fails("fallocate") ? -1 : (int)kernel(SYS_fallocate, fd, mode, at, size);
}

int linkat(int from, const char* old, int to, const char* path, int flags) {
  if (lacks("linkat")) {
    errno = EPERM;
    return -1;
  }
  return fails("linkat") ? -1 : (int)kernel(SYS_linkat, from, old, to, path, flags);
}

int renameat(int from, const char* old, int to, const char* path) {
  return fails("renameat") ? -1 : (int)kernel(SYS_renameat, from, old, to, path);
}

int unlinkat(int folder, const char* path, int flags) {
  return fails("unlinkat") ? -1 : (int)kernel(SYS_unlinkat, folder, path, flags);
}

int flock(int fd, int operation) {
  if (lacks("flock")) {
    errno = ENOLCK;
    return -1;
  }
  return fails("flock") ? -1 : (int)kernel(SYS_flock, fd, operation);
}

int ftruncate(int fd, off_t size) {
  return fails("ftruncate") ? -1 : (int)kernel(SYS_ftruncate, fd, size);
}

int fchmod(int fd, mode_t mode) { return fails("fchmod") ? -1 : (int)kernel(SYS_fchmod, fd, mode); }

int fchown(int fd, uid_t owner, gid_t group) {
  return fails("fchown") ? -1 : (int)kernel(SYS_fchown, fd, owner, group);
}

// The calls that the C library has no name for: openat2 and renameat2.
long syscall(long n, ...) {
  va_list rest;
  va_start(rest, n);
  const long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  const long d = va_arg(rest, long), e = va_arg(rest, long);
  va_end(rest);
  const int known = n == SYS_openat2 || n == SYS_renameat2;
  const char* name = n == SYS_openat2 ? "openat2" : "renameat2";
  if (known && lacks(name)) {
    errno = ENOSYS;
    return -1;
  }
  if (known && fails(name)) return -1;
  return kernel(n, a, b, c, d, e);
}

void* malloc(size_t size) { return strikes("malloc") ? NULL : __libc_malloc(size); }

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*start)(void*),
                   void* with) {
  if (fails("pthread_create")) return errno;
  return ((int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(
      RTLD_NEXT, "pthread_create"))(thread, how, start, with);
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t* set) {
  const char* processors = getenv("FAULT_PROCESSORS");
  if (processors == NULL) return kernel(SYS_sched_getaffinity, process, size, set) < 0 ? -1 : 0;
  memset(set, 0, size);
  for (int i = 0; i < atoi(processors); ++i) CPU_SET_S(i, size, set);
  return 0;
}
