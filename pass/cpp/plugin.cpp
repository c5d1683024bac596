// What llvm-c cannot do: registers the pass with LLVM's new pass manager, and
// gives a few of LLVM's own transformations to the Rust side (src/lib.rs), which
// is all the rest.
#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/SimplifyQuery.h"
#include "llvm/Analysis/Utils/Local.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

#include <map>
#include <tuple>
#include <vector>

extern "C" void gpurace_run_on_module(LLVMModuleRef module);

namespace {

struct GpuracePass : llvm::PassInfoMixin<GpuracePass> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &) {
    gpurace_run_on_module(llvm::wrap(&module));
    return llvm::PreservedAnalyses::none();
  }
  // Runs at -O0 too.
  static bool isRequired() { return true; }
};

void registerPasses(llvm::PassBuilder &builder) {
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager &manager, llvm::OptimizationLevel) { manager.addPass(GpuracePass()); });
}

const char parallelAccesses[] = "llvm.loop.parallel_accesses";

// The access group whose accesses depend on no other iteration of a loop, or
// null.
llvm::MDNode *groupOf(const llvm::Loop &loop) {
  if (auto *id = loop.getLoopID())
    for (const llvm::MDOperand &operand : llvm::drop_begin(id->operands()))
      if (auto *property = llvm::dyn_cast<llvm::MDNode>(operand))
        if (property->getNumOperands() == 2)
          if (auto *name = llvm::dyn_cast<llvm::MDString>(property->getOperand(0)))
            if (name->getString() == parallelAccesses)
              return llvm::dyn_cast<llvm::MDNode>(property->getOperand(1));
  return nullptr;
}

// Where LLVM makes one access of two, it may drop their group, and the loop
// vectoriser would compare addresses at run time. All accesses in a loop over a
// block's threads are the threads'.
struct KeepGroups : llvm::PassInfoMixin<KeepGroups> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (llvm::MDNode *group = groupOf(*loop))
        for (llvm::BasicBlock *block : loop->blocks())
          for (llvm::Instruction &instruction : *block)
            if (instruction.mayReadOrWriteMemory() &&
                !instruction.hasMetadata(llvm::LLVMContext::MD_access_group))
              instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
    return llvm::PreservedAnalyses::all();
  }
};

// LLVM 22 vectorises loops wrongly whose addresses cut a counter to two widths, such as `b * 64 + (i + 30) %
// 64` with an `unsigned` index. That the counter does not wrap is then a condition at each width, and LLVM
// takes the condition at the greater width for both. So the counter is hidden at all widths but 32 bits.
struct KeepWidths : llvm::PassInfoMixin<KeepWidths> {
  static constexpr unsigned kept = 32;

  // What an instruction cuts to fewer bits, or widens from them, or null.
  static llvm::Use *narrow(llvm::Instruction &instruction) {
    using namespace llvm::PatternMatch;
    const llvm::APInt *number = nullptr, *back = nullptr;
    unsigned width = 0;
    llvm::Use *use = &instruction.getOperandUse(0);
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(instruction)) {
      width = instruction.getOperand(0)->getType()->getScalarSizeInBits();
    } else if (match(&instruction, m_And(m_Value(), m_APInt(number))) && number->isMask()) {
      width = number->countr_one();
    } else if (match(&instruction, m_Shr(m_Shl(m_Value(), m_APInt(number)), m_APInt(back))) &&
               *number == *back) {
      width = instruction.getType()->getScalarSizeInBits() - number->getZExtValue();
    }
    return width == 0 || width == kept ? nullptr : use;
  }

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    auto counts = [](const llvm::SCEV *e) { return llvm::isa<llvm::SCEVAddRecExpr>(e); };
    llvm::SmallVector<llvm::Use *> all;
    for (llvm::Loop *loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost()) continue;
      for (llvm::BasicBlock *block : loop->blocks())
        for (llvm::Instruction &instruction : *block) {
          if (instruction.getNumOperands() == 0 || !instruction.getType()->isIntegerTy()) continue;
          llvm::Use *use = narrow(instruction);
          if (use && llvm::SCEVExprContains(evolution.getSCEV(use->get()), counts)) all.push_back(use);
        }
    }
    if (all.empty()) {
      // The order of questions changes what ScalarEvolution answers. With ours first, a march along a grid
      // took twice as long.
      auto kept = llvm::PreservedAnalyses::all();
      kept.abandon<llvm::ScalarEvolutionAnalysis>();
      return kept;
    }
    for (llvm::Use *use : all) {
      auto *user = llvm::cast<llvm::Instruction>(use->getUser());
      use->set(llvm::IRBuilder<>(user).CreateFreeze(use->get()));
    }
    return llvm::PreservedAnalyses::none();
  }
};

// LLVM 22 joins strided accesses of a loop: the loads move up to their first one, the stores down to their
// last one. If the iterations of the loop are independent, LLVM takes the accesses of one iteration for
// independent too, and moves a load over a store to the same memory. So no accesses are joined in a function
// where that could change a result. To be used right before the loop vectoriser, function by function.
struct KeepOrder : llvm::PassInfoMixin<KeepOrder> {
  static constexpr const char *option = "enable-interleaved-mem-accesses";
  // The time that the search takes grows with the square of their number.
  static constexpr size_t most = 1000;

  struct Access {
    llvm::Instruction *instruction;
    // Null if LLVM does not join the access with others.
    const llvm::SCEV *address = nullptr;
    // The stride in elements, the size of an element in bytes.
    int64_t stride = 0, size = 0;

    bool writes() const { return instruction->mayWriteToMemory(); }
  };

  // Lets the vectoriser join accesses, as it does without options, or forbids it.
  static void allow(bool joined) {
    auto &options = llvm::cl::getRegisteredOptions();
    auto found = options.find(option);
    if (found == options.end())
      llvm::report_fatal_error("LLVM has no option `enable-interleaved-mem-accesses`");
    found->second->reset();
    if (!joined) found->second->addOccurrence(0, option, "false");
  }

  // Describes an access as the vectoriser does, under the same assumptions.
  static Access describe(llvm::Instruction &instruction, llvm::Loop &loop, const llvm::LoopAccessInfo &info,
                         llvm::PredicatedScalarEvolution &evolution, llvm::DominatorTree &tree) {
    Access access{&instruction};
    llvm::Value *pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (!pointer) return access;
    llvm::Type *type = llvm::getLoadStoreType(&instruction);
    const auto &strides = info.getSymbolicStrides();
    access.stride =
        std::abs(llvm::getPtrStride(evolution, type, pointer, &loop, tree, strides, /*Assume=*/true,
                                    /*ShouldCheckWrap=*/false)
                     .value_or(0));
    access.size = instruction.getDataLayout().getTypeAllocSize(type).getKnownMinValue();
    if (access.stride > 1) access.address = llvm::replaceSymbolicStrideSCEV(evolution, strides, pointer);
    return access;
  }

  // True if LLVM may join two accesses.
  static bool join(const Access &one, const Access &other, llvm::ScalarEvolution &evolution) {
    if (!one.address || !other.address || one.writes() != other.writes() || one.stride != other.stride ||
        one.size != other.size)
      return false;
    auto *distance = llvm::dyn_cast<llvm::SCEVConstant>(evolution.getMinusSCEV(one.address, other.address));
    return distance && distance->getAPInt().abs().ult(one.stride * one.size);
  }

  // True if joined accesses of one iteration could pass each other.
  static bool reorders(llvm::Loop &loop, llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    auto &info = analyses.getResult<llvm::LoopAccessAnalysis>(function).getInfo(loop);
    auto &tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    llvm::PredicatedScalarEvolution evolution(info.getPSE());
    llvm::SmallVector<Access> all;
    llvm::LoopBlocksRPO order(&loop);
    order.perform(&analyses.getResult<llvm::LoopAnalysis>(function));
    for (llvm::BasicBlock *block : order)
      for (llvm::Instruction &instruction : *block)
        if (instruction.mayReadOrWriteMemory())
          all.push_back(describe(instruction, loop, info, evolution, tree));
    if (all.size() > most) return true;
    llvm::BatchAAResults batch(analyses.getResult<llvm::AAManager>(function));
    auto conflict = [&](const Access &one, const Access &other) {
      if (!one.writes() && !other.writes()) return false;
      const auto at = llvm::MemoryLocation::get(one.instruction);
      return llvm::isModOrRefSet(batch.getModRefInfo(other.instruction, at));
    };
    for (size_t moved = 0; moved < all.size(); moved++) {
      size_t from = moved, to = moved;
      for (size_t mate = 0; mate < all.size(); mate++) {
        if (!join(all[moved], all[mate], *evolution.getSE())) continue;
        if (all[moved].writes())
          to = std::max(to, mate);
        else
          from = std::min(from, mate);
      }
      for (size_t passed = from; passed <= to; passed++)
        if (passed != moved && conflict(all[moved], all[passed])) return true;
    }
    return false;
  }

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
    allow(llvm::none_of(loops.getLoopsInPreorder(), [&](llvm::Loop *loop) {
      return loop->isInnermost() && groupOf(*loop) && reorders(*loop, function, analyses);
    }));
    auto kept = llvm::PreservedAnalyses::all();
    // As in `KeepWidths`: the order of questions changes the answers.
    kept.abandon<llvm::ScalarEvolutionAnalysis>();
    kept.abandon<llvm::LoopAccessAnalysis>();
    return kept;
  }
};

// A type without its qualifiers and other names.
const llvm::DIType *bareType(const llvm::DIType *type) {
  using namespace llvm::dwarf;
  while (auto *derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    if (!llvm::is_contained({DW_TAG_typedef, DW_TAG_const_type, DW_TAG_volatile_type, DW_TAG_restrict_type},
                            derived->getTag()))
      break;
    type = derived->getBaseType();
  }
  return type;
}

constexpr unsigned deepestField = 4;

// The analyses of one module.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;

  explicit Analyses(llvm::PassBuilder &builder) {
    builder.registerLoopAnalyses(loops);
    builder.registerFunctionAnalyses(functions);
    builder.registerCGSCCAnalyses(components);
    builder.registerModuleAnalyses(modules);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
};

// What a pointer or a reference points to, without its qualifiers; null for another type.
const llvm::DIType *pointee(const llvm::DIType *type) {
  using namespace llvm::dwarf;
  auto *pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type);
  bool points =
      pointer && llvm::is_contained({DW_TAG_pointer_type, DW_TAG_reference_type}, pointer->getTag());
  return points ? bareType(pointer->getBaseType()) : nullptr;
}

// Appends `PATH\tOFFSET\tSIZE\tELEMENT\tPOINTEE\tSIZE\n` for each field of a struct, those of its structs,
// too.
void appendFields(const llvm::DICompositeType *type, const std::string &path, uint64_t start, unsigned depth,
                  std::string &out) {
  for (const llvm::DINode *node : type->getElements()) {
    auto *member = llvm::dyn_cast_or_null<llvm::DIDerivedType>(node);
    if (!member || member->isStaticMember()) continue;
    const llvm::DIType *inner = bareType(member->getBaseType());
    uint64_t offset = start + member->getOffsetInBits() / 8;
    auto *composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(inner);
    bool isArray = composite && composite->getTag() == llvm::dwarf::DW_TAG_array_type;
    bool isBase = member->getTag() == llvm::dwarf::DW_TAG_inheritance;
    if (!isBase && member->getTag() != llvm::dwarf::DW_TAG_member) continue;
    std::string name = isBase || member->getName().empty() ? path : path + member->getName().str();
    if (composite && !isArray && !composite->getElements().empty() && depth < deepestField) {
      appendFields(composite, name.empty() || name.back() == '.' ? name : name + ".", offset, depth + 1, out);
      continue;
    }
    if (name.empty() || name.back() == '.') continue;
    uint64_t element = 0;
    if (isArray)
      if (auto *of = bareType(composite->getBaseType())) element = of->getSizeInBits() / 8;
    uint64_t size = (member->getSizeInBits() + 7) / 8;
    for (uint64_t number : {offset, size, element}) name += "\t" + std::to_string(number);
    const llvm::DIType *target = pointee(inner);
    if (target) name += "\t" + target->getName().str() + "\t" + std::to_string(target->getSizeInBits() / 8);
    out += name + "\n";
  }
}

// A line with a struct's name and size, then one for each field. Empty if the type is no struct, or unknown.
std::string describedStruct(const llvm::DIType *bare) {
  std::string out;
  auto *type = llvm::dyn_cast_or_null<llvm::DICompositeType>(bare);
  if (type && type->getTag() != llvm::dwarf::DW_TAG_array_type && type->getSizeInBits() != 0) {
    out = type->getName().str() + "\t" + std::to_string(type->getSizeInBits() / 8) + "\n";
    appendFields(type, "", 0, 0, out);
  }
  return out;
}

} // namespace

extern "C" {

// The struct that a parameter of a function is, or points to, from its debug info, as `describedStruct` says
// it. The caller disposes of the text.
char *gpurace_struct(LLVMValueRef function, unsigned index, bool behindPointer) {
  const llvm::DIType *parameter = nullptr;
  auto *program = llvm::unwrap<llvm::Function>(function)->getSubprogram();
  if (program && program->getType()) {
    auto types = program->getType()->getTypeArray();
    if (index + 1 < types.size()) parameter = bareType(types[index + 1]);
  }
  return LLVMCreateMessage(describedStruct(behindPointer ? pointee(parameter) : parameter).c_str());
}

// The struct that a variable is, likewise.
char *gpurace_struct_of_variable(LLVMValueRef variable) {
  llvm::SmallVector<llvm::DIGlobalVariableExpression *, 1> all;
  llvm::unwrap<llvm::GlobalVariable>(variable)->getDebugInfo(all);
  const llvm::DIType *type = all.size() == 1 ? bareType(all[0]->getVariable()->getType()) : nullptr;
  return LLVMCreateMessage(describedStruct(type).c_str());
}

// Calls `found` with `to`, a load, and an earlier load of the same bytes that it follows on each way, where
// nothing that may write these bytes lies between: for integers and pointers.
void gpurace_loaded_again(LLVMValueRef function, void *to,
                          void (*found)(void *, LLVMValueRef, LLVMValueRef)) {
  llvm::Function &f = *llvm::unwrap<llvm::Function>(function);
  llvm::PassBuilder builder;
  Analyses analyses(builder);
  auto &dominators = analyses.functions.getResult<llvm::DominatorTreeAnalysis>(f);
  auto &memory = analyses.functions.getResult<llvm::MemorySSAAnalysis>(f).getMSSA();
  // By start of the address, distance from it, type, and the last instruction that may have written the
  // bytes.
  std::map<std::tuple<llvm::Value *, int64_t, llvm::Type *, llvm::MemoryAccess *>,
           std::vector<llvm::LoadInst *>>
      known;
  for (llvm::BasicBlock *block : llvm::ReversePostOrderTraversal<llvm::Function *>(&f))
    for (llvm::Instruction &instruction : *block) {
      auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (!load || !load->isSimple()) continue;
      if (!load->getType()->isIntegerTy() && !load->getType()->isPointerTy()) continue;
      llvm::Value *pointer = load->getPointerOperand();
      llvm::APInt distance(f.getDataLayout().getIndexTypeSizeInBits(pointer->getType()), 0);
      llvm::Value *start = pointer->stripAndAccumulateConstantOffsets(f.getDataLayout(), distance, true);
      llvm::MemoryAccess *written = memory.getWalker()->getClobberingMemoryAccess(load);
      auto &earlier = known[{start, distance.getSExtValue(), load->getType(), written}];
      for (llvm::LoadInst *first : earlier)
        if (dominators.dominates(first, load)) found(to, llvm::wrap(load), llvm::wrap(first));
      earlier.push_back(load);
    }
}

// Removes the permission to join a product with a sum. `LLVMSetFastMathFlags` of llvm-c only adds
// permissions.
void gpurace_forbid_contraction(LLVMModuleRef module) {
  for (llvm::Function &function : *llvm::unwrap(module))
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
}

// Leaves of the debug info what clang gives optimised device code: lines.
void gpurace_keep_lines(LLVMModuleRef module) {
  llvm::Module &m = *llvm::unwrap(module);
  llvm::stripNonLineTableDebugInfo(m);
  // Line tables alone would still make tables of the whole program, and PTX for a debugger.
  llvm::DenseMap<llvm::DICompileUnit *, llvm::DICompileUnit *> units;
  if (llvm::NamedMDNode *all = m.getNamedMetadata("llvm.dbg.cu"))
    for (unsigned i = 0; i < all->getNumOperands(); i++) {
      auto *old = llvm::cast<llvm::DICompileUnit>(all->getOperand(i));
      auto *unit = llvm::DICompileUnit::getDistinct(
          m.getContext(), old->getSourceLanguage(), old->getFile(), old->getProducer(), old->isOptimized(),
          old->getFlags(), old->getRuntimeVersion(), "", llvm::DICompileUnit::DebugDirectivesOnly, nullptr,
          nullptr, nullptr, nullptr, nullptr, 0, false, false, llvm::DICompileUnit::DebugNameTableKind::None,
          false, "", "");
      units[old] = unit;
      all->setOperand(i, unit);
    }
  llvm::DebugInfoFinder left;
  left.processModule(m);
  for (llvm::DISubprogram *program : left.subprograms())
    if (auto *unit = units.lookup(program->getUnit())) program->replaceUnit(unit);
}

// From now on, LLVM's simplifycfg leaves each store where it is: it makes no store of several branches one
// store, which would have the place of neither, and moves none out of its branch. Returns false if LLVM has
// no such options.
bool gpurace_keep_stores() {
  auto &options = llvm::cl::getRegisteredOptions();
  for (const char *name : {"simplifycfg-merge-cond-stores", "simplifycfg-hoist-cond-stores"}) {
    llvm::cl::Option *option = options.lookup(name);
    if (!option) return false;
    static_cast<llvm::cl::opt<bool> *>(option)->setValue(false);
  }
  return true;
}

// What llvmGetPassPluginInfo (defined in Rust, so that the library exports it)
// returns.
void gpurace_plugin_info(llvm::PassPluginLibraryInfo *info) {
  *info = {LLVM_PLUGIN_API_VERSION, "gpurace", "0.1", registerPasses};
}

// Reports through clang's own diagnostics, so that the compilation fails.
void gpurace_emit_error(LLVMModuleRef module, const char *message) {
  llvm::unwrap(module)->getContext().emitError(message);
}

LLVMValueRef gpurace_clone_function(LLVMValueRef function) {
  llvm::ValueToValueMapTy values;
  return llvm::wrap(llvm::CloneFunction(llvm::unwrap<llvm::Function>(function), values));
}

// The largest value that LLVM knows an integer of at most 64 bits to have, read as an unsigned number. What
// flags such as `nsw` promise does not count: hardware wraps.
uint64_t gpurace_most(LLVMValueRef value) {
  llvm::Value *of = llvm::unwrap(value);
  auto *instruction = llvm::dyn_cast<llvm::Instruction>(of);
  if (!instruction) return UINT64_MAX;
  llvm::SimplifyQuery query(instruction->getDataLayout(), nullptr, nullptr, nullptr, instruction, false);
  auto range = llvm::computeConstantRangeIncludingKnownBits(of, false, query);
  return range.getUnsignedMax().getLimitedValue();
}

// Puts the body of the called function in the place of a call, if LLVM can.
bool gpurace_inline(LLVMValueRef call) {
  llvm::InlineFunctionInfo info;
  return llvm::InlineFunction(*llvm::unwrap<llvm::CallBase>(call), info).isSuccess();
}

// Splits a block before `instruction`; returns the second part.
LLVMBasicBlockRef gpurace_split_before(LLVMValueRef instruction) {
  auto *at = llvm::unwrap<llvm::Instruction>(instruction);
  return llvm::wrap(at->getParent()->splitBasicBlock(at->getIterator()));
}

// Makes instructions of the constant expressions over a constant that
// instructions use.
void gpurace_expand_constants(LLVMValueRef constant) {
  llvm::convertUsersOfConstantsToInstructions({llvm::unwrap<llvm::Constant>(constant)});
}

// Whether a variable that no other file sees is in a group of its name.
bool gpurace_is_in_own_group(LLVMValueRef variable) {
  auto *global = llvm::unwrap<llvm::GlobalVariable>(variable);
  return global->hasLocalLinkage() && global->hasComdat() &&
         global->getComdat()->getName() == global->getName();
}

// Gives a variable pages of its own: it begins one, and bytes that nobody uses
// fill its last one. What it is for the program stays.
void gpurace_own_pages(LLVMValueRef variable, uint64_t page) {
  auto *old = llvm::unwrap<llvm::GlobalVariable>(variable);
  llvm::Module &module = *old->getParent();
  llvm::LLVMContext &context = module.getContext();
  uint64_t size = module.getDataLayout().getTypeAllocSize(old->getValueType());
  auto *filling = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), llvm::alignTo(size, page) - size);
  auto *value = old->getInitializer();
  // Its value alone says whether all of it takes room in the file.
  auto *rest = llvm::isa<llvm::UndefValue>(value) ? llvm::UndefValue::get(filling)
                                                  : llvm::Constant::getNullValue(filling);
  auto *whole = llvm::StructType::get(context, {value->getType(), filling});
  auto *made = new llvm::GlobalVariable(module, whole, old->isConstant(), old->getLinkage(),
                                        llvm::ConstantStruct::get(whole, {value, rest}), "", old,
                                        old->getThreadLocalMode(), old->getAddressSpace());
  made->copyAttributesFrom(old);
  made->copyMetadata(old, 0);
  made->setComdat(old->getComdat());
  made->setAlignment(std::max(llvm::Align(page), old->getAlign().valueOrOne()));
  made->takeName(old);
  old->replaceAllUsesWith(made);
  old->eraseFromParent();
}

// Keeps a value in a variable of the function's frame, which every use loads.
// Returns the variable, or null where nothing uses the value.
LLVMValueRef gpurace_demote(LLVMValueRef instruction) {
  return llvm::wrap(llvm::DemoteRegToStack(*llvm::unwrap<llvm::Instruction>(instruction)));
}

// The number of an address, at the builder's position: reckoned with numbers
// from where it starts, as the loop vectoriser makes vectors of numbers and
// takes pointers one by one.
LLVMValueRef gpurace_address_number(LLVMBuilderRef builder, LLVMValueRef address) {
  llvm::IRBuilderBase &at = *llvm::unwrap(builder);
  llvm::Value *pointer = llvm::unwrap(address);
  const llvm::DataLayout &layout = at.GetInsertBlock()->getDataLayout();
  llvm::Value *offset = nullptr;
  while (auto *step = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
    if (step->getType()->isVectorTy()) break;
    llvm::Value *more = llvm::emitGEPOffset(&at, layout, step);
    offset = offset ? at.CreateAdd(offset, more) : more;
    pointer = step->getPointerOperand();
  }
  llvm::Value *start = at.CreatePtrToInt(pointer, at.getInt64Ty());
  return llvm::wrap(offset ? at.CreateAdd(start, offset) : start);
}

// Says that the accesses of `body` depend on no other iteration of the loop that
// ends with the branch `latch`, once `body` is inlined there.
void gpurace_mark_parallel(LLVMValueRef body, LLVMValueRef *latches, unsigned count) {
  auto *function = llvm::unwrap<llvm::Function>(body);
  auto &context = function->getContext();
  auto *group = llvm::MDNode::getDistinct(context, {});
  for (auto &block : *function)
    for (auto &instruction : block)
      if (instruction.mayReadOrWriteMemory())
        instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
  for (unsigned i = 0; i < count; i++) {
    llvm::Metadata *parallel[] = {llvm::MDString::get(context, parallelAccesses), group};
    llvm::Metadata *loop[] = {nullptr, llvm::MDNode::get(context, parallel)};
    auto *id = llvm::MDNode::getDistinct(context, loop);
    id->replaceOperandWith(0, id);
    llvm::unwrap<llvm::Instruction>(latches[i])->setMetadata(llvm::LLVMContext::MD_loop, id);
  }
}

// Runs LLVM's default passes of level 1 or 2, with vectorisation. Before it, two loops are made of one
// whose branch all threads take alike: only then is it vectorised over the threads.
void gpurace_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, unsigned level) {
  using llvm::OptimizationLevel;
  llvm::Module &m = *llvm::unwrap(module);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = true;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::PassBuilder builder(reinterpret_cast<llvm::TargetMachine *>(machine), tuning, std::nullopt,
                            &callbacks);
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager &manager, OptimizationLevel) {
    manager.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::SimpleLoopUnswitchPass(/*NonTrivial=*/true)));
    manager.addPass(llvm::SimplifyCFGPass());
    manager.addPass(llvm::InstCombinePass());
    manager.addPass(KeepGroups());
    manager.addPass(KeepWidths());
    manager.addPass(KeepOrder());
  });
  Analyses analyses(builder);
  llvm::StandardInstrumentations instrumentations(m.getContext(), false);
  instrumentations.registerCallbacks(callbacks, &analyses.modules);
  const OptimizationLevel levels[] = {OptimizationLevel::O1, OptimizationLevel::O2};
  builder.buildPerModuleDefaultPipeline(levels[level - 1]).run(m, analyses.modules);
  KeepOrder::allow(true);
}
}
