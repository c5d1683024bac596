// Preloaded into a process: lets one call of a function fail, as a system without memory, disk or threads
// does.
//
//   FAIL_CALL    the function's name here; `open` stands for all forms of it
//   FAIL_AT      the number of the call that fails, from 1; 0 for none
//   FAIL_ON      1: all later calls fail too
//   FAIL_ERRNO   the error's number
//   FAIL_MODULE  only calls from objects whose path ends like this are counted
//   FAIL_COUNT   a file of 8 bytes, which gets the number of calls
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static const char *call, *module;
static long at, all_later, error_number;
static atomic_long own_count;
static atomic_long* count = &own_count;
// 0: not begun, 1: being read, 2: read
static atomic_int begun;

static long number(const char* name) {
    const char* text = getenv(name);
    return text ? atol(text) : 0;
}

static void begin(void) {
    int none = 0;
    if (!atomic_compare_exchange_strong(&begun, &none, 1)) return;
    call = getenv("FAIL_CALL");
    module = getenv("FAIL_MODULE");
    at = number("FAIL_AT");
    all_later = number("FAIL_ON");
    error_number = number("FAIL_ERRNO");
    const char* file = getenv("FAIL_COUNT");
    if (file) {
        // Not by functions of this file, which would count.
        long fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR);
        long page = syscall(SYS_mmap, 0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0 && page != -1) count = (atomic_long*)page;
        syscall(SYS_close, fd);
    }
    atomic_store(&begun, 2);
}

// The answers so far: a call's address, and in the lowest bit whether it counts.
static atomic_uintptr_t answers[1 << 14];

static int is_own(void* from) {
    if (!module) return 1;
    uintptr_t key = (uintptr_t)from << 1;
    atomic_uintptr_t* answer = &answers[(uintptr_t)from % (1 << 14)];
    uintptr_t known = atomic_load(answer);
    if ((known & ~(uintptr_t)1) == key) return known & 1;
    Dl_info info;
    int own = 0;
    if (dladdr(from, &info) && info.dli_fname) {
        size_t path = strlen(info.dli_fname), end = strlen(module);
        own = path >= end && !strcmp(info.dli_fname + path - end, module);
    }
    atomic_store(answer, key | own);
    return own;
}

// True if this call is to fail. Sets `errno`.
static int fails(const char* name, void* from) {
    // Before there is an environment, and while it is read, nothing fails.
    if (!environ) return 0;
    if (!atomic_load(&begun)) begin();
    if (atomic_load(&begun) != 2 || !call || strcmp(call, name) || !is_own(from)) return 0;
    long now = atomic_fetch_add(count, 1) + 1;
    if (!at || now < at || (now > at && !all_later)) return 0;
    errno = (int)error_number;
    return 1;
}

#define FROM __builtin_return_address(0)
#define NEXT(name)                                                                                           \
    static __typeof__(&name) next;                                                                           \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void* malloc(size_t size) { return fails("malloc", FROM) ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return fails("malloc", FROM) ? NULL : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { return fails("malloc", FROM) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t align, size_t size) {
    return fails("malloc", FROM) ? NULL : __libc_memalign(align, size);
}
int posix_memalign(void** out, size_t align, size_t size) {
    if (fails("malloc", FROM)) return ENOMEM;
    void* made = __libc_memalign(align, size);
    if (!made) return ENOMEM;
    *out = made;
    return 0;
}

void* mmap(void* where, size_t size, int protection, int flags, int fd, off_t offset) {
    if (fails("mmap", FROM)) return MAP_FAILED;
    return (void*)syscall(SYS_mmap, where, size, protection, flags, fd, offset);
}
void* mmap64(void* where, size_t size, int protection, int flags, int fd, off_t offset) {
    if (fails("mmap", FROM)) return MAP_FAILED;
    return (void*)syscall(SYS_mmap, where, size, protection, flags, fd, offset);
}
int mprotect(void* where, size_t size, int protection) {
    return fails("mprotect", FROM) ? -1 : (int)syscall(SYS_mprotect, where, size, protection);
}

static int opens(int folder, const char* path, int flags, mode_t mode, void* from) {
    return fails("open", from) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}
#define MODE                                                                                                 \
    mode_t mode = 0;                                                                                         \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                     \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        mode = va_arg(rest, mode_t);                                                                         \
        va_end(rest);                                                                                        \
    }
int open(const char* path, int flags, ...) { MODE return opens(AT_FDCWD, path, flags, mode, FROM); }
int open64(const char* path, int flags, ...) { MODE return opens(AT_FDCWD, path, flags, mode, FROM); }
int openat(int folder, const char* path, int flags, ...) {
    MODE return opens(folder, path, flags, mode, FROM);
}
int openat64(int folder, const char* path, int flags, ...) {
    MODE return opens(folder, path, flags, mode, FROM);
}

ssize_t read(int fd, void* to, size_t size) {
    return fails("read", FROM) ? -1 : (ssize_t)syscall(SYS_read, fd, to, size);
}
ssize_t write(int fd, const void* from, size_t size) {
    return fails("write", FROM) ? -1 : (ssize_t)syscall(SYS_write, fd, from, size);
}
ssize_t writev(int fd, const struct iovec* parts, int n) {
    return fails("write", FROM) ? -1 : (ssize_t)syscall(SYS_writev, fd, parts, n);
}
int rename(const char* old, const char* new) {
    return fails("rename", FROM) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}
int mkdir(const char* path, mode_t mode) {
    return fails("mkdir", FROM) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
int unlink(const char* path) {
    return fails("unlink", FROM) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* about, void* (*run)(void*), void* argument) {
    NEXT(pthread_create);
    return fails("pthread_create", FROM) ? (int)error_number : next(thread, about, run, argument);
}
pid_t fork(void) {
    NEXT(fork);
    return fails("fork", FROM) ? -1 : next();
}
int pipe2(int ends[2], int flags) { return fails("pipe", FROM) ? -1 : (int)syscall(SYS_pipe2, ends, flags); }
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* about, char* const argv[], char* const envp[]) {
    NEXT(posix_spawn);
    return fails("fork", FROM) ? (int)error_number : next(pid, path, actions, about, argv, envp);
}
int posix_spawnp(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* about, char* const argv[], char* const envp[]) {
    NEXT(posix_spawnp);
    return fails("fork", FROM) ? (int)error_number : next(pid, path, actions, about, argv, envp);
}
void* dlopen(const char* path, int flags) {
    NEXT(dlopen);
    return fails("dlopen", FROM) ? NULL : next(path, flags);
}
