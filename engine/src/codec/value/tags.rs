//! The tags of V8's format, and the numbers that `ts/bridge/serializer.ts` gives to typed arrays.
//!
//! V8 describes its format in `src/objects/value-serializer.cc`. The names here are V8's.

/// The first bytes of a value: the tag of the version, and version 15. Node 20, 22 and 24 write this version.
pub(super) const HEADER: [u8; 2] = [0xff, 15];

pub(super) const PADDING: u8 = 0;
pub(super) const HOLE: u8 = b'-';
pub(super) const UNDEFINED: u8 = b'_';
pub(super) const NULL: u8 = b'0';
pub(super) const TRUE: u8 = b'T';
pub(super) const FALSE: u8 = b'F';
pub(super) const INT32: u8 = b'I';
pub(super) const DOUBLE: u8 = b'N';
pub(super) const BIG_INT: u8 = b'Z';
pub(super) const ONE_BYTE_STRING: u8 = b'"';
pub(super) const TWO_BYTE_STRING: u8 = b'c';
pub(super) const REFERENCE: u8 = b'^';
pub(super) const OBJECT: u8 = b'o';
pub(super) const END_OBJECT: u8 = b'{';
pub(super) const SPARSE: u8 = b'a';
pub(super) const END_SPARSE: u8 = b'@';
pub(super) const DENSE: u8 = b'A';
pub(super) const END_DENSE: u8 = b'$';
pub(super) const DATE: u8 = b'D';
pub(super) const TRUE_OBJECT: u8 = b'y';
pub(super) const FALSE_OBJECT: u8 = b'x';
pub(super) const NUMBER_OBJECT: u8 = b'n';
pub(super) const BIG_INT_OBJECT: u8 = b'z';
pub(super) const STRING_OBJECT: u8 = b's';
pub(super) const REG_EXP: u8 = b'R';
pub(super) const MAP: u8 = b';';
pub(super) const END_MAP: u8 = b':';
pub(super) const SET: u8 = b'\'';
pub(super) const END_SET: u8 = b',';
pub(super) const ARRAY_BUFFER: u8 = b'B';
pub(super) const RESIZABLE_ARRAY_BUFFER: u8 = b'~';
pub(super) const HOST_OBJECT: u8 = b'\\';
pub(super) const ERROR: u8 = b'r';

/// Inside an error.
pub(super) const ERROR_MESSAGE: u8 = b'm';
pub(super) const ERROR_CAUSE: u8 = b'c';
pub(super) const ERROR_STACK: u8 = b's';
pub(super) const END_ERROR: u8 = b'.';

/// The names of errors that V8 keeps. Every other error becomes an `Error`.
pub(super) const ERROR_NAMES: [(u8, &str); 6] = [
    (b'E', "EvalError"),
    (b'R', "RangeError"),
    (b'F', "ReferenceError"),
    (b'S', "SyntaxError"),
    (b'T', "TypeError"),
    (b'U', "URIError"),
];

/// The flags of a regular expression in the order of JavaScript's `flags`, and V8's bits.
pub(super) const REG_EXP_FLAGS: [(char, u32); 8] =
    [('d', 128), ('g', 1), ('i', 2), ('m', 4), ('s', 32), ('u', 16), ('v', 256), ('y', 8)];

/// The classes of host objects: the number in `ts/bridge/serializer.ts`, the name, and the size of an element in bytes.
pub(super) const VIEWS: [(u32, &str, usize); 13] = [
    (0, "Int8Array", 1),
    (1, "Uint8Array", 1),
    (2, "Uint8ClampedArray", 1),
    (3, "Int16Array", 2),
    (4, "Uint16Array", 2),
    (5, "Int32Array", 4),
    (6, "Uint32Array", 4),
    (7, "Float32Array", 4),
    (8, "Float64Array", 8),
    (9, "BigInt64Array", 8),
    (10, "BigUint64Array", 8),
    (11, "DataView", 1),
    (64, "Buffer", 1),
];
