"""Raw memory inside kernels: pointers instead of arrays, blocks of 32 bytes, words of 8.

A kernel that is called from Python turns its arrays into pointers (`raw`) and hands only these on: Numba counts
references of every array that passes through a call, which costs more than scanning does.

Nothing here checks bounds. A caller may read a block or a word at any index below the end of a document, so every
buffer must have `SLACK` readable (for `copy_block`: writable) bytes after its last document.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

BLOCK = 32
SLACK = 64

_BYTE = ir.IntType(8)
_LANES = ir.VectorType(_BYTE, BLOCK)

Lanes = Any  # an LLVM value: 32 bytes, or 32 bits
LaneTest = Callable[[ir.IRBuilder, Lanes], Lanes]


def _pointer(builder: ir.IRBuilder, data: Any, index: Any, pointee: ir.Type) -> Any:
    return builder.bitcast(builder.gep(data, [index]), pointee.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def raw(typing_context: Any, array: Any) -> Any:
    """The address of a contiguous array's first item, to be indexed like the array; the array must outlive it."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), codegen  # type: ignore[attr-defined]


def as_word(data: bytes) -> int:
    """What `word_at` gives for these bytes, at most 8, when those after them are masked out."""
    return int.from_bytes(data, "little")


def _splat(byte: int) -> Lanes:
    return ir.Constant(_LANES, [byte] * BLOCK)


def _mask_intrinsic(test: LaneTest) -> Any:
    """An intrinsic `mask(data, index) -> int64` whose bit k says whether `data[index + k]` passes the test."""

    def mask(typing_context: Any, data: Any, index: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            lanes = builder.load(_pointer(builder, args[0], args[1], _LANES), align=1)
            bits = builder.bitcast(test(builder, lanes), ir.IntType(BLOCK))
            return builder.zext(bits, ir.IntType(64))

        return types.int64(data, types.int64), codegen

    return intrinsic(mask)


def _any_of(builder: ir.IRBuilder, lanes: Lanes, bytes_: bytes) -> Lanes:
    found = builder.icmp_unsigned("==", lanes, _splat(bytes_[0]))
    for byte in bytes_[1:]:
        found = builder.or_(found, builder.icmp_unsigned("==", lanes, _splat(byte)))
    return found


def _ends_name(builder: ir.IRBuilder, lanes: Lanes) -> Lanes:
    blank_or_control = builder.icmp_unsigned("<=", lanes, _splat(0x20))
    return builder.or_(blank_or_control, _any_of(builder, lanes, b"/>="))


def _is_forbidden(builder: ir.IRBuilder, lanes: Lanes) -> Lanes:
    control = builder.icmp_unsigned("<", lanes, _splat(0x20))
    return builder.and_(control, builder.not_(_any_of(builder, lanes, b"\t\n\r")))


def _needs_normalising(builder: ir.IRBuilder, lanes: Lanes) -> Lanes:
    return builder.or_(builder.icmp_unsigned("<", lanes, _splat(0x20)), _any_of(builder, lanes, b"&"))


less_than_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b"<"))
greater_than_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b">"))
quote_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b'"'))
apostrophe_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b"'"))
name_end_mask = _mask_intrinsic(_ends_name)
text_end_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b"<&\r"))
attribute_special_mask = _mask_intrinsic(_needs_normalising)
forbidden_mask = _mask_intrinsic(_is_forbidden)
non_ascii_mask = _mask_intrinsic(lambda builder, lanes: builder.icmp_unsigned(">=", lanes, _splat(0x80)))
node_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b"<="))
doubtful_mask = _mask_intrinsic(lambda builder, lanes: _any_of(builder, lanes, b"&<>"))


@intrinsic  # type: ignore[untyped-decorator]
def copy_block(typing_context: Any, source: Any, start: Any, target: Any, position: Any) -> Any:
    """Copy the 32 bytes at `source[start]` to `target[position]`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        read = _pointer(builder, args[0], args[1], _LANES)
        write = _pointer(builder, args[2], args[3], _LANES)
        builder.store(builder.load(read, align=1), write, align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typing_context: Any, data: Any, index: Any) -> Any:
    """The 8 bytes at `data[index]` as one little-endian integer."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(builder, args[0], args[1], ir.IntType(64)), align=1)

    return types.int64(data, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """The index of the lowest set bit; 64 when there is none."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def bit_count(typing_context: Any, mask: Any) -> Any:
    """How many bits are set."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen
