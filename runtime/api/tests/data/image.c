/* Device code as the lowering makes it, by hand: three kernels and a variable. */
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t tid[3], ctaid[3], ntid[3], nctaid[3];
} Context;

void __gpurace_write(Context *, void *, uint32_t, uint32_t, uint64_t);
void __gpurace_read(Context *, void *, uint32_t, uint32_t);
void __gpurace_trap(Context *, uint32_t);

int factor_storage = 1;

static uint32_t index_of(const Context *c) { return c->ctaid[0] * c->ntid[0] + c->tid[0]; }

/* scale(int *out, const int *in, int n): out[i] = in[i] * factor */
static void scale(Context *c, const char *args) {
    int *out = *(int **)args;
    const int *in = *(const int **)(args + 8);
    int n = *(const int *)(args + 16);
    uint32_t i = index_of(c);
    if (i >= (uint32_t)n) return;
    __gpurace_read(c, (void *)&in[i], 4, 0);
    int value = in[i] * factor_storage;
    __gpurace_write(c, &out[i], 4, 1, (uint32_t)value);
    out[i] = value;
}

/* clash(int *out): every thread writes out[5]; 2 threads of one block race */
static void clash(Context *c, const char *args) {
    int *out = *(int **)args;
    int value = (int)index_of(c);
    __gpurace_write(c, &out[5], 4, 2, (uint32_t)value);
    out[5] = value;
}

static void fault(Context *c, const char *args) { (void)args; *(volatile int *)16 = (int)c->tid[0]; }

typedef struct {
    const char *name;
    void (*run)(Context *, const char *);
    void *bare, *block;
    uint64_t frame_bytes, needs_whole_warps;
    void *block_checked;
    uint64_t checked_frame_bytes, checked_sets_threads;
    void *open, *block_open;
    uint64_t open_frame_bytes, open_sets_threads;
} Kernel;
typedef struct { const char *name; void *address; uint64_t size; } Variable;

static const Kernel kernels[] = {
    {"_Z5scalePiPKii", scale, NULL, NULL, 0, 0, NULL, 0, 0, NULL, NULL, 0, 0},
    {"_Z5clashPi", clash, NULL, NULL, 0, 0, NULL, 0, 0, NULL, NULL, 0, 0},
    {"_Z5faultv", fault, NULL, NULL, 0, 0, NULL, 0, 0, NULL, NULL, 0, 0},
};
static const Variable variables[] = {{"factor", &factor_storage, 4}};

const struct {
    uint32_t version, flags;
    uint64_t kernel_count;
    const Kernel *kernels;
    uint64_t variable_count;
    const Variable *variables;
} __gpurace_image = {VERSION, 0, 3, kernels, 1, variables};
