#include "notebooks/kernel/jit.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/MemoryMapper.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/TargetSelect.h>
#if LLVM_VERSION_MAJOR >= 21
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/EHFrameRegistrationPlugin.h>
#else
#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#endif

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "notebooks/kernel/thread_locals.h"

namespace lockstep::kernel {
namespace {

std::string message_of(llvm::Error error) { return llvm::toString(std::move(error)); }

// Destructors of cells' variables, in the order in which the variables were made. They run when a cell is undone; at the end of the
// process none does, because they would run in any order, after the GPUs are destroyed.
struct Destructor {
  void (*function)(void*);
  void* object;
};

std::vector<Destructor>& destructors() {
  static std::vector<Destructor> list;
  return list;
}

std::mutex destructors_lock;

int keep_destructor(void (*function)(void*), void* object, void*) {
  const std::lock_guard hold(destructors_lock);
  destructors().push_back({function, object});
  return 0;
}

int keep_nothing(void (*)()) { return 0; }

// Machine code of all cells lies in one range of addresses. Otherwise cells could be more than 2 GiB apart, for the virtual GPU
// takes much memory, and code that is so far away can't be reached.
constexpr std::size_t kStretch = std::size_t{1} << 30;

llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> make_linker(llvm::orc::ExecutionSession& session) {
  auto memory = llvm::orc::MapperJITLinkMemoryManager::CreateWithMapper<llvm::orc::InProcessMemoryMapper>(kStretch);
  if (!memory) return memory.takeError();
  auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session, std::move(*memory));
#if LLVM_VERSION_MAJOR >= 21
  auto frames = llvm::orc::EHFrameRegistrationPlugin::Create(session);
  if (!frames) return frames.takeError();
  layer->addPlugin(std::move(*frames));
#else
  layer->addPlugin(
      std::make_unique<llvm::orc::EHFrameRegistrationPlugin>(session, std::make_unique<llvm::jitlink::InProcessEHFrameRegistrar>()));
#endif
  return layer;
}

// The functions of llvm.global_ctors, in their order; the list itself is taken out.
std::vector<llvm::Function*> take_initialisers(llvm::Module& module) {
  llvm::GlobalVariable* list = module.getGlobalVariable("llvm.global_ctors");
  if (list == nullptr) return {};
  std::multimap<std::uint64_t, llvm::Function*> by_priority;
  if (const auto* entries = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer())) {
    for (const llvm::Use& use : entries->operands()) {
      const auto* entry = llvm::cast<llvm::ConstantStruct>(use.get());
      auto* function = llvm::dyn_cast<llvm::Function>(entry->getOperand(1)->stripPointerCasts());
      if (function != nullptr) by_priority.emplace(llvm::cast<llvm::ConstantInt>(entry->getOperand(0))->getZExtValue(), function);
    }
  }
  list->eraseFromParent();
  std::vector<llvm::Function*> functions;
  for (const auto& [priority, function] : by_priority) functions.push_back(function);
  return functions;
}

// Turns LLVM's "Symbols not found: [ _Z1fv ]" into a sentence with the names in the source.
std::string sentence_of(const std::string& error) {
  static const std::regex missing(R"(Symbols not found: \[ ([^\]]*) \])");
  std::smatch match;
  if (!std::regex_search(error, match, missing)) return error;
  std::istringstream words(match[1]);
  std::string word, names;
  std::set<std::string> seen;
  while (std::getline(words, word, ',')) {
    word.erase(0, word.find_first_not_of(' '));
    word.erase(word.find_last_not_of(' ') + 1);
    const std::string name = source_name(word);
    if (seen.insert(name).second) names += (names.empty() ? "" : ", ") + name;
  }
  return names + (seen.size() == 1 ? " is" : " are") + " declared and used, but not defined. Fix: define " +
         (seen.size() == 1 ? "it" : "them") + " in this cell or one above, or load the library: #pragma cling load(\"...\")";
}

}  // namespace

struct Jit::State {
  std::vector<std::string> variables;  // of the last module
  std::set<std::string> tables;        // of virtual methods, and types' names: what exists once
  std::string reported;                // what went wrong inside: LLVM's own errors only name the consequences
  std::unique_ptr<llvm::orc::LLJIT> machine;
  std::unique_ptr<llvm::orc::ThreadSafeContext> context;  // the interpreter's, which makes every module
};

Jit::Jit() : state_(std::make_unique<State>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto target = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!target) throw std::runtime_error("this machine's processor is not known to LLVM: " + message_of(target.takeError()));
  target->setRelocationModel(llvm::Reloc::PIC_);
  target->setCodeModel(llvm::CodeModel::Small);
  target->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  target->getOptions().EmulatedTLS = true;  // thread_locals.h
  llvm::orc::LLJITBuilder builder;
  builder.setJITTargetMachineBuilder(std::move(*target));
#if LLVM_VERSION_MAJOR >= 21
  builder.setObjectLinkingLayerCreator(make_linker);
#else
  builder.setObjectLinkingLayerCreator([](llvm::orc::ExecutionSession& session, const llvm::Triple&) { return make_linker(session); });
#endif
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);  // what it would do is done here
  auto machine = builder.create();
  if (!machine) throw std::runtime_error("LLVM's linker could not be made: " + message_of(machine.takeError()));
  state_->machine = std::move(*machine);
  state_->machine->getExecutionSession().setErrorReporter([state = state_.get()](llvm::Error error) {
    if (state->reported.empty()) {
      state->reported = message_of(std::move(error));
    } else {
      llvm::consumeError(std::move(error));
    }
  });
  add_thread_locals(*state_->machine);
  llvm::orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* address) {
    symbols[state_->machine->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  };
  add("__cxa_atexit", &keep_destructor);
  add("atexit", &keep_nothing);
  if (llvm::Error error = state_->machine->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    throw std::runtime_error("LLVM's linker could not be set up: " + message_of(std::move(error)));
  }
}

Jit::~Jit() {
  // Code of cells stays: threads of a notebook may be in it until the process ends.
  static_cast<void>(state_->machine.release());
  static_cast<void>(state_->context.release());
  static_cast<void>(state_.release());
}

std::vector<Jit::Function> Jit::link(std::unique_ptr<llvm::Module> module) {
  ++modules_;
  // The interpreter owns the context and never ends before the process; here it gets the form that ORC wants.
  if (state_->context == nullptr) {
    state_->context = std::make_unique<llvm::orc::ThreadSafeContext>(std::unique_ptr<llvm::LLVMContext>(&module->getContext()));
  }
  std::vector<std::string> names;
  for (llvm::Function* function : take_initialisers(*module)) {
    names.push_back("lockstep_cell_" + std::to_string(modules_) + "_" + std::to_string(names.size()));
    function->setName(names.back());
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    function->setComdat(nullptr);
  }
  // Once a virtual method is defined, clang creates its class's table again in every cell that follows. The first is the one that counts.
  for (llvm::GlobalVariable& variable : module->globals()) {
    if (variable.isDeclarationForLinker() || !variable.hasExternalLinkage() || variable.getName().substr(0, 3) != "_ZT") continue;
    if (state_->tables.insert(variable.getName().str()).second) continue;
    variable.setComdat(nullptr);
    variable.setLinkage(llvm::GlobalValue::AvailableExternallyLinkage);
  }
  state_->variables.clear();
  for (const llvm::GlobalVariable& variable : module->globals()) {
    if (!variable.isDeclarationForLinker() && !variable.hasLocalLinkage() && !variable.isConstant()) {
      state_->variables.push_back(variable.getName().str());
    }
  }
  // What a cell defines is linked at once, so that a missing symbol is reported with the cell that uses it.
  std::string any;
  for (const llvm::GlobalObject& object : module->global_objects()) {
    const bool defined = !object.isDeclarationForLinker() && !object.hasLocalLinkage() && !object.getName().starts_with("llvm.");
    if (defined && any.empty()) any = object.getName().str();
  }
  llvm::orc::LLJIT& machine = *state_->machine;
  const auto require = [&](llvm::Error error) {
    const std::string reported = std::exchange(state_->reported, {});
    if (error) {
      const std::string message = message_of(std::move(error));
      throw std::runtime_error(sentence_of(reported.empty() ? message : reported));
    }
  };
  require(machine.addIRModule(llvm::orc::ThreadSafeModule(std::move(module), *state_->context)));
  if (names.empty() && !any.empty()) require(machine.lookup(any).takeError());
  std::vector<Function> functions;
  for (const std::string& name : names) {
    auto found = machine.lookup(name);
    require(found.takeError());
    functions.push_back(found->toPtr<Function>());
  }
  return functions;
}

void Jit::destroy_last() {
  std::set<const void*> objects;
  for (const std::string& name : state_->variables) {
    if (auto found = state_->machine->lookup(name)) {
      objects.insert(found->toPtr<const void*>());
    } else {
      llvm::consumeError(found.takeError());
    }
  }
  std::vector<Destructor> last;
  {
    const std::lock_guard hold(destructors_lock);
    std::vector<Destructor>& all = destructors();
    const auto is_last = [&](const Destructor& one) { return objects.count(one.object) != 0; };
    std::copy_if(all.begin(), all.end(), std::back_inserter(last), is_last);
    all.erase(std::remove_if(all.begin(), all.end(), is_last), all.end());
  }
  for (auto one = last.rbegin(); one != last.rend(); ++one) one->function(one->object);
}

}  // namespace lockstep::kernel
