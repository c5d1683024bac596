// A program that ends in the way that its first argument names, after a race; with `clean` as its second
// argument without one.
#include <csignal>
#include <thread>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

__global__ void race(int* out) {
    out[0] = threadIdx.x;
}

__global__ void no_race(int* out) {
    out[threadIdx.x] = threadIdx.x;
}

__global__ void trap() {
    __trap();
}

static void handled(int) {
    _exit(5);
}

static void again(int signal) {
    ::signal(signal, SIG_DFL);
    raise(signal);
}

// Runs `what` in a forked child and prints its status.
template <class F>
static void in_child(F what) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) what();
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

int main(int argc, char** argv) {
    Buffer<int> out(32);
    auto launch = [&](bool racy) {
        if (racy) race<<<1, 32>>>(out.device);
        else no_race<<<1, 32>>>(out.device);
        SYNC();
    };
    launch(argc == 2 || strcmp(argv[2], "clean"));
    auto is = [&](const char* how) { return !strcmp(argv[1], how); };
    if (is("return")) return 4;
    if (is("exit")) exit(3);
    if (is("_exit")) _exit(0);
    if (is("_exit 7")) _exit(7);
    if (is("_Exit")) _Exit(0);
    if (is("quick_exit")) {
        at_quick_exit([] { puts("at_quick_exit"), fflush(stdout); });
        quick_exit(0);
    }
    if (is("abort")) abort();
    if (is("segv")) *reinterpret_cast<volatile int*>(8) = 1;
    if (is("terminate")) throw 1;
    if (is("trap")) {
        trap<<<1, 1>>>();
        SYNC();
    }
    char* const args[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                          const_cast<char*>("echo $0 $1 $GREETING; exit 9"), const_cast<char*>("new"),
                          const_cast<char*>("program"), nullptr};
    char* const environment[] = {const_cast<char*>("GREETING=hello"), nullptr};
    if (is("execve")) execve("/bin/sh", args, environment);
    if (is("execv")) execv("/bin/sh", args);
    if (is("execvp")) execvp("sh", args);
    if (is("execl")) execl("/bin/sh", args[0], args[1], args[2], args[3], args[4], nullptr);
    if (is("execlp")) execlp("sh", args[0], args[1], args[2], args[3], args[4], nullptr);
    if (is("execle")) execle("/bin/sh", args[0], args[1], args[2], args[3], args[4], nullptr, environment);
    if (is("exec fails")) {
        if (execl("/no/such/program", "none", nullptr) != -1) return 8;
        launch(true);
    }
    if (is("signal")) {
        // `nohup` has it ignored.
        struct sigaction now;
        if (!sigaction(atoi(argv[3]), nullptr, &now) && now.sa_handler == SIG_IGN) signal(atoi(argv[3]), SIG_DFL);
        raise(atoi(argv[3]));
    }
    if (is("many signals")) {
        // As `timeout` and an impatient user send them. Another thread takes one while the first is handled.
        std::thread([] {
            for (;;) pause();
        }).detach();
        pid_t self = getpid();
        if (fork() == 0) {
            for (int i = 0; i < 50; i++) kill(self, i % 2 ? SIGTERM : SIGINT);
            _exit(0);
        }
        for (;;) pause();
    }
    if (is("handled")) signal(SIGTERM, handled), raise(SIGTERM);
    if (is("handled and raised again")) {
        struct sigaction old;
        if (sigaction(SIGTERM, nullptr, &old) || old.sa_handler != SIG_DFL) return 8;
        if (signal(SIGTERM, again) != SIG_DFL) return 8;
        raise(SIGTERM);
    }
    if (is("ignored")) signal(SIGTERM, SIG_IGN), raise(SIGTERM);
    if (is("timer") || is("timer and _exit")) {
        // The timer most likely interrupts malloc or free.
        if (is("timer and _exit")) signal(SIGALRM, handled);
        itimerval soon = {{0, 0}, {0, 10000 + atoi(argv[3])}};
        setitimer(ITIMER_REAL, &soon, nullptr);
        for (void* held[1000];;) {
            for (int i = 0; i < 1000; i++) held[i] = malloc(i * 97 % 5000 + 2000);
            for (void* memory : held) free(memory);
        }
    }
    if (is("children")) {
        in_child([] { _exit(0); });
        in_child([] { exit(0); });
        in_child([] { execl("/bin/true", "true", nullptr); });
        in_child([] { raise(SIGTERM); });
        in_child([&] { launch(false), exit(0); });
        in_child([&] { launch(true), exit(0); });
        in_child([&] { launch(true), _exit(0); });
        if (pid_t child = vfork()) {
            waitpid(child, nullptr, 0);
        } else {
            execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        printf("system %d\n", system("exit 0"));
    }
    return 0;
}
