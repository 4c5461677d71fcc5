"""`unflatten`: an exported program as a module with the parts of the original one."""

from __future__ import annotations

import abc
from typing import Any, NoReturn

from ..core import pytree
from ..nn.modules.module import Module
from .exported_program import ExportedModule, ExportedProgram

__all__ = ["FlatArgsAdapter", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter(abc.ABC):
    """Makes the arguments of a program of others."""

    __module__ = "torch.export.unflatten"

    @abc.abstractmethod
    def adapt(self, target_spec: pytree.TreeSpec, input_spec: pytree.TreeSpec, input_args: list[Any], metadata: dict[str, Any] | None = None,
              obj: Any | None = None) -> list[Any]:  # fmt: skip
        """The leaves of the program's arguments, of those of a call.

        Args:
            target_spec, input_spec: the structures of the program's arguments and of the call's.
        """

    def get_flat_arg_paths(self) -> list[str]:
        """Where in the arguments the leaves are found; empty if that is not known."""
        return []


class _Part(Module):
    """A part of the original module: its state and its parts; what it computes is in the whole's program."""

    def forward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not there.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("export.unflatten: the parts of a program cannot be called; export the part on its own")


class UnflattenedModule(ExportedModule):
    """A program as a module whose parts have the names and the state of the original's; only the whole can be called."""

    __module__ = "torch.export.unflatten"

    def __init__(self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        super().__init__(export_module, check_guards=False)
        self.__dict__["_flat_args_adapter"] = flat_args_adapter
        names = [entry.fqn for entry in export_module.module_call_graph if entry.fqn]
        for name in names:
            owner, last = self._owner(name)
            part = owner._modules.get(last)
            owner._modules[last] = made = _Part()
            if part is not None:
                made.__dict__.update(part.__dict__)
        for prefix, each in list(self.named_modules(remove_duplicate=False)):
            own = [name.removeprefix(f"{prefix}." if prefix else "") for name in names if name.rpartition(".")[0] == prefix]
            each.__dict__["_modules"] = {name: each._modules[name] for name in own}

    def train(self, mode: bool = True) -> UnflattenedModule:  # type: ignore[override]
        """Set the parts' ``training``; the program is what it was recorded as."""
        Module.train(self, mode)
        return self

    def eval(self) -> UnflattenedModule:  # type: ignore[override]
        """Set the parts' ``training``; the program is what it was recorded as."""
        return self.train(False)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            TypeError: the arguments have another structure, and no adapter makes them the program's; torch's texts.
        """
        expected = self.__dict__["_program"].call_spec.in_spec
        order = expected.children()[1].context
        if set(kwargs) == set(order):
            kwargs = {name: kwargs[name] for name in order}
        leaves, spec = pytree.flatten((args, kwargs))
        if spec != expected:
            adapter = self.__dict__["_flat_args_adapter"]
            if adapter is None:
                raise TypeError("There is no flat args adapter specified. Are you sure you are calling this with the right arguments? ")
            leaves = adapter.adapt(target_spec=expected, input_spec=spec, input_args=leaves, metadata=None, obj=self)
            if len(leaves) != expected.num_leaves:
                raise TypeError(
                    f"Flat args adaption failed, number of args mismatch Adapted: {len(leaves)} \nExported module: {expected.num_leaves}"
                )
        args, kwargs = pytree.unflatten(leaves, expected)
        return super().forward(*args, **kwargs)


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """A program as a module whose parts have the names and the state of the original's.

    Args:
        flat_args_adapter: makes the program's arguments of others.
    """
    return UnflattenedModule(module, flat_args_adapter)
