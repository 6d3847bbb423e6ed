from .compiler import ASTSource, CompiledKernel, compile  # pylint: disable=redefined-builtin

__all__ = ["ASTSource", "CompiledKernel", "compile"]
