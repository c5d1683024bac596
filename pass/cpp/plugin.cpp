// Registers the pass with LLVM's new pass manager: the one thing that llvm-c
// cannot do. Everything else is Rust (src/lib.rs).
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"

extern "C" void gpurace_run_on_module(LLVMModuleRef module);

namespace {

struct GpuracePass : llvm::PassInfoMixin<GpuracePass> {
  llvm::PreservedAnalyses run(llvm::Module &module,
                              llvm::ModuleAnalysisManager &) {
    gpurace_run_on_module(llvm::wrap(&module));
    return llvm::PreservedAnalyses::none();
  }
  // Runs at -O0 too.
  static bool isRequired() { return true; }
};

void registerPasses(llvm::PassBuilder &builder) {
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager &manager, llvm::OptimizationLevel) {
        manager.addPass(GpuracePass());
      });
}

} // namespace

extern "C" {

// What llvmGetPassPluginInfo (defined in Rust, so that the library exports it)
// returns.
void gpurace_plugin_info(llvm::PassPluginLibraryInfo *info) {
  *info = {LLVM_PLUGIN_API_VERSION, "gpurace", "0.1", registerPasses};
}

// Reports through clang's own diagnostics, so that the compilation fails.
void gpurace_emit_error(LLVMModuleRef module, const char *message) {
  llvm::unwrap(module)->getContext().emitError(message);
}
}
