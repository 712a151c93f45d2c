"""Triton kernels out of installed packages, without importing them.

A package of kernels imports frameworks, devices and configuration that compiling needs not. `Loader` runs of a module
only what its kernels may use: imports of Triton and the standard library, names of the package's own modules (loaded
the same way), constants, and functions under triton.jit without further decorators (tuning, heuristics). What packages find out of their machine is given instead (`FACTS`). A
statement that fails is passed over; a kernel that misses it does not compile."""
import ast
import importlib
import operator
import pathlib
import types

from triton.language.extra import libdevice

STANDARD = {"triton", "math", "os", "operator", "functools", "typing", "enum"}

# Names that packages import from parts of their own that ask the device or the framework: here, an sm_90.
FACTS = {
    "compare_version": lambda package, relation, version: relation is operator.ge,
    "infer_device": lambda: "cuda",
    "infer_device_arch": lambda: "hopper",
    "is_hip": lambda: False,
    "is_npu_available": lambda: False,
    "DEVICE_TYPE": "cuda",
    "Version": lambda text: [int(number) for number in text.split(".")[:2]],
    "IS_NVIDIA": True,
    "IS_NVIDIA_HOPPER": True,
    "IS_NVIDIA_BLACKWELL": False,
    "IS_INTEL": False,
    "IS_AMD": False,
    "IS_GATHER_SUPPORTED": True,
    "IS_TF32_SUPPORTED": True,
    "IS_TMA_SUPPORTED": False,
    "tl_extra_shim": libdevice,
}


def is_kernel(node):
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list)


def under_jit_alone(node):
    """The function with triton.jit as its only decorator, its line the first of the decorators it had."""
    jit = ast.parse("__import__('triton').jit", mode="eval").body
    for part in ast.walk(jit):
        ast.copy_location(part, node.decorator_list[0])
    node.decorator_list = [jit]
    return node


class Loader:
    def __init__(self, site):
        self.site, self.modules = pathlib.Path(site), {}

    def load(self, file):
        """The module of `file`, a path relative to the packages' folder."""
        file = pathlib.PurePosixPath(file)
        if file not in self.modules:
            module = types.ModuleType(str(file.with_suffix("")).replace("/", "."))
            module.__file__ = str(self.site / file)
            self.modules[file] = module
            self._run(ast.parse((self.site / file).read_text()).body, file, module)
        return self.modules[file]

    def _run(self, nodes, file, module):
        """Whether all succeeded."""
        succeeded = True
        for node in nodes:
            try:
                self._run_one(node, file, module)
            except Exception:  # pylint: disable=broad-except
                succeeded = False  # whatever a package's statement raises
        return succeeded

    def _run_one(self, node, file, module):
        if isinstance(node, ast.ImportFrom):
            self._import_from(node, file, module)
        elif isinstance(node, ast.Import):
            if all(name.name.split(".")[0] in STANDARD for name in node.names):
                self._execute(node, module)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._execute(node, module)
        elif is_kernel(node):
            self._execute(under_jit_alone(node), module)
        elif isinstance(node, ast.If):
            self._run(node.body if self._holds(node.test, module) else node.orelse, file, module)
        elif isinstance(node, ast.Try):
            if not self._run(node.body, file, module):
                self._run([line for handler in node.handlers for line in handler.body], file, module)

    @staticmethod
    def _execute(node, module):
        # Triton reads a function's text from its file by the line of the code.
        exec(compile(ast.Module([node], []), module.__file__, "exec"), module.__dict__)  # pylint: disable=exec-used

    @staticmethod
    def _holds(test, module):
        try:
            return bool(eval(compile(ast.Expression(test), "test", "eval"), module.__dict__))  # pylint: disable=eval-used
        except Exception:  # pylint: disable=broad-except
            return False

    def _import_from(self, node, file, module):
        name = node.module or ""
        if node.level == 0 and name.split(".")[0] in STANDARD:
            source = importlib.import_module(name)
            for alias in node.names:
                value = getattr(source, alias.name, None) or importlib.import_module(f"{name}.{alias.name}")
                setattr(module, alias.asname or alias.name, value)
            return
        folder = pathlib.PurePosixPath("." if node.level == 0 else file.parents[node.level - 1])
        target = folder.joinpath(*name.split(".")) if name else folder
        for alias in node.names:
            found = FACTS.get(alias.name, self._find(target, alias.name))
            if found is not None:
                setattr(module, alias.asname or alias.name, found)

    def _find(self, target, name):
        """What `from target import name` names, None where there is nothing of use."""
        for file in (target / f"{name}.py", target / name / "__init__.py"):
            if (self.site / file).exists():
                return self.load(file)
        for file in (target.with_suffix(".py"), target / "__init__.py"):
            if (self.site / file).exists():
                return getattr(self.load(file), name, None)
        return None
