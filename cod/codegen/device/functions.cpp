// Out-of-line code: emitted once per variant instead of at every site.
#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {

llvm::Value* DeviceGenerator::out_of_line(const std::string& name, llvm::Type* result,
                                          const std::vector<llvm::Value*>& arguments,
                                          const OutOfLineBody& body) {
  llvm::Function* function = module_.getFunction(name);
  if (function == nullptr) function = make_out_of_line(name, result, arguments, body);
  llvm::CallInst* call = ir_.CreateCall(function, arguments);
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoMerge);
  mask_here_ = {};  // other lanes may join in the function
  return call;
}

llvm::Function* DeviceGenerator::make_out_of_line(const std::string& name, llvm::Type* result,
                                                  const std::vector<llvm::Value*>& arguments,
                                                  const OutOfLineBody& body) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoInline);
  add_handler_attributes(*function);
  std::vector<llvm::Value*> parameters;
  for (llvm::Argument& parameter : function->args()) parameters.push_back(&parameter);

  // Values that the handler has computed are not available in the function: its caches are set aside until
  // the function is complete.
  const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  auto words = std::exchange(words_, {});
  auto sites = std::exchange(sites_, {});
  llvm::Function* const caller = std::exchange(function_, function);
  llvm::BasicBlock* const caller_entry = entry_;
  entry_ = new_block("entry");
  llvm::BasicBlock* start = new_block("body");
  ir_.SetInsertPoint(start);
  llvm::Value* value = body(parameters);
  value == nullptr ? ir_.CreateRetVoid() : ir_.CreateRet(value);
  llvm::IRBuilder<>(entry_).CreateBr(start);
  entry_ = caller_entry;
  function_ = caller;
  sites_ = std::move(sites);
  words_ = std::move(words);
  return function;
}

void DeviceGenerator::add_handler_attributes(llvm::Function& function) {
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr(llvm::Attribute::Convergent);
  function.addFnAttr("no-jump-tables", "true");  // nor look-up tables: a variant has no variables for them
}

}  // namespace lynxpp::cod
