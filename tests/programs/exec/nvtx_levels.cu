//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lnvToolsExt
// NVTX's functions need no library. Pushes and pops return their levels, of each domain and thread its own, and a pop
// too many returns a negative number.
#include <cstdint>
#include <thread>

#include <gpurace/findings.h>
#include <nvToolsExt.h>
#include <nvToolsExtCudaRt.h>
#include <nvtx3/nvtx3.hpp>

#include "check.h"

struct library {
    static constexpr const char* name = "library";
};

int main() {
    bool ok = nvtxRangePop() < 0;
    // A region of gpurace's own is no range.
    gpurace_region_begin("own");
    ok &= nvtxRangePop() < 0;
    ok &= nvtxRangePushA("a") == 0 && nvtxRangePushW(L"b") == 1;
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "c";
    ok &= nvtxRangePushEx(&attributes) == 2 && nvtxRangePushEx(nullptr) == 3;

    nvtxDomainHandle_t domain = nvtxDomainCreateA("domain"), other = nvtxDomainCreateW(L"other");
    ok &= domain != nullptr && domain != other && nvtxDomainRangePop(domain) < 0;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    ok &= attributes.message.registered != nullptr;
    ok &= attributes.message.registered == nvtxDomainRegisterStringW(domain, L"registered");
    ok &= nvtxDomainRangePushEx(domain, &attributes) == 0 && nvtxDomainRangePushEx(domain, &attributes) == 1;
    ok &= nvtxDomainRangePushEx(other, &attributes) == 0;
    ok &= nvtxDomainRangePop(domain) == 1 && nvtxDomainRangePop(domain) == 0 && nvtxDomainRangePop(domain) < 0;
    ok &= nvtxDomainRangePop(other) == 0;
    std::thread([&] { ok &= nvtxRangePop() < 0 && nvtxRangePushA("thread") == 0; }).join();
    gpurace_region_end();
    for (int level = 3; level >= 0; level--) ok &= nvtxRangePop() == level;
    ok &= nvtxRangePop() < 0;

    nvtxRangeId_t first = nvtxRangeStartA("first"), second = nvtxRangeStartEx(&attributes);
    ok &= first != 0 && second != 0 && first != second;
    nvtxRangeEnd(first);
    nvtxDomainRangeEnd(domain, second);
    nvtxMarkA("mark");
    nvtxMarkEx(&attributes);
    nvtxNameOsThreadA(1, "main");
    nvtxNameCategoryA(1, "category");
    nvtxNameCudaStreamA(nullptr, "stream");
    nvtxDomainDestroy(domain);
    {
        nvtx3::scoped_range outer("outer");
        ok &= nvtxRangePushA("inner") == 1 && nvtxRangePop() == 1;
        nvtx3::scoped_range_in<library> inside{nvtx3::registered_string_in<library>{"inside"}};
        nvtx3::mark("marked");
    }
    return finish(ok && nvtxRangePop() < 0);
}
