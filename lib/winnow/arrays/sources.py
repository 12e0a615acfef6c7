"""What a kernel is made of: the source of its module and of every winnow module that this one imports, and so on.

A kernel contains the code of the kernels it calls and the values of the constants it names, wherever they are defined.
Only contents count, never times: an unpacked wheel, an image layer and a checkout of equal sources are the same.
"""

import hashlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

# Finds what the parser finds (a test compares them) and takes a thirtieth of its time.
_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+(winnow[\w.]*)|from[ \t]+(winnow[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*))", re.MULTILINE
)
_DECORATOR = "winnow.arrays.kernel"  # what it imports says where machine code lies, not what it is


@cache
def sources_digest(module: str) -> str:
    """Returns a hash of all sources that the kernels of a module depend on."""
    modules = sorted(dependencies(module))
    content = "".join(f"{name} {hashlib.sha256(_source(name)[0]).hexdigest()}\n" for name in modules)
    return hashlib.sha256(content.encode()).hexdigest()


def dependencies(module: str) -> set[str]:
    """Returns the names of the module itself and of all winnow modules that it imports, directly or not."""
    found = {module}
    waiting = [module]
    while waiting:
        new = _imported(waiting.pop()) - found
        found |= new
        waiting += new - {_DECORATOR}
    return found


@cache
def _imported(module: str) -> frozenset[str]:
    source, _ = _source(module)
    return frozenset(name for match in _IMPORT.findall(source) for name in _modules_of(*match))


def _modules_of(plain: bytes, package: bytes, names: bytes) -> Iterator[str]:
    """Yields the modules that an import statement names; `from package import name` may name a module, too."""
    module = (plain or package).decode()
    yield module
    if _source(module)[1]:
        submodules = (f"{module}.{name.decode()}" for name in re.findall(rb"\w+", names))
        yield from filter(_is_module, submodules)


def _is_module(name: str) -> bool:
    try:
        _source(name)
    except OSError:
        return False
    return True


@cache  # read once: the digest is that of the sources this process has imported, also when they are edited later
def _source(module: str) -> tuple[bytes, bool]:
    """Returns the source of a module, and whether it is a package."""
    package, *path = module.split(".")
    try:
        return _read(package, "/".join([*path, "__init__.py"])), True
    except OSError:
        return _read(package, "/".join(path) + ".py"), False


def _read(package: str, path: str) -> bytes:
    content = pkgutil.get_data(package, path)
    if content is None:
        raise FileNotFoundError(f"the loader of {package} cannot read {path}")
    return content
