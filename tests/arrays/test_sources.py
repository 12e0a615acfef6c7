"""What a kernel depends on is found without parsing: the same as with it."""

import ast
from pathlib import Path

import pytest

import winnow
from winnow.arrays.kernel import kernel
from winnow.arrays.sources import dependencies

ROOT = Path(winnow.__file__).parent
MODULES = {
    ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for file in ROOT.rglob("*.py")
}


def parsed(module: str) -> set[str]:
    """All modules that a module names in imports, by Python's own parser."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import, which is not looked for"
            named |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return named & MODULES.keys()


def test_every_import_is_found() -> None:
    direct = {module: parsed(module) for module in MODULES}
    for module in MODULES:
        found, waiting = {module}, [module]
        while waiting:
            new = direct[waiting.pop()] - found
            found |= new
            waiting += new - {"winnow.arrays.kernel"}
        assert dependencies(module) >= found


def test_a_kernel_needs_no_more_than_it_imports() -> None:
    assert "winnow.engines.xtrie.engine" not in dependencies("winnow.engines.boxpath.walk")
    assert "winnow.arrays.machine_code" not in dependencies("winnow.engines.boxpath.walk")


def test_a_kernel_with_a_closure_is_refused() -> None:
    factor = 2
    with pytest.raises(TypeError, match="closure"):

        @kernel
        def scaled(value: int) -> int:
            return value * factor
