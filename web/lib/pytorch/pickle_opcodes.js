// pickle_opcodes.js - the opcodes of a pickle: which are known, how long each is, and where a pickle ends
import { fail } from '../base/errors.js';

/** Names of opcodes that are refused, by their byte, for messages. */
const REFUSED = /** @type {Record<number, string>} */ ({
  0x30: 'POP',
  0x31: 'POP_MARK',
  0x32: 'DUP',
  0x46: 'FLOAT',
  0x49: 'INT',
  0x4c: 'LONG',
  0x50: 'PERSID',
  0x53: 'STRING',
  0x54: 'BINSTRING',
  0x55: 'SHORT_BINSTRING',
  0x56: 'UNICODE',
  0x64: 'DICT',
  0x67: 'GET',
  0x69: 'INST',
  0x6c: 'LIST',
  0x6f: 'OBJ',
  0x70: 'PUT',
  0x81: 'NEWOBJ',
  0x82: 'EXT1',
  0x83: 'EXT2',
  0x84: 'EXT4',
  0x8b: 'LONG4',
  0x8d: 'BINUNICODE8',
  0x8e: 'BINBYTES8',
  0x8f: 'EMPTY_SET',
  0x90: 'ADDITEMS',
  0x91: 'FROZENSET',
  0x92: 'NEWOBJ_EX',
  0x96: 'BYTEARRAY8',
  0x97: 'NEXT_BUFFER',
  0x98: 'READONLY_BUFFER',
});

/**
 * Bytes of the argument that follows an opcode. -1: a length of one byte and as many bytes, -4: the same with a length
 * of four bytes, -10: two lines.
 * @type {Record<number, number>}
 */
const ARGUMENT = {
  0x80: 1, // PROTO
  0x95: 8, // FRAME
  0x28: 0, // MARK
  0x29: 0, // EMPTY_TUPLE
  0x2e: 0, // STOP
  0x42: -4, // BINBYTES
  0x43: -1, // SHORT_BINBYTES
  0x47: 8, // BINFLOAT
  0x4a: 4, // BININT
  0x4b: 1, // BININT1
  0x4d: 2, // BININT2
  0x4e: 0, // NONE
  0x51: 0, // BINPERSID
  0x52: 0, // REDUCE
  0x58: -4, // BINUNICODE
  0x5d: 0, // EMPTY_LIST
  0x61: 0, // APPEND
  0x62: 0, // BUILD
  0x63: -10, // GLOBAL
  0x65: 0, // APPENDS
  0x68: 1, // BINGET
  0x6a: 4, // LONG_BINGET
  0x71: 1, // BINPUT
  0x72: 4, // LONG_BINPUT
  0x73: 0, // SETITEM
  0x74: 0, // TUPLE
  0x75: 0, // SETITEMS
  0x7d: 0, // EMPTY_DICT
  0x85: 0, // TUPLE1
  0x86: 0, // TUPLE2
  0x87: 0, // TUPLE3
  0x88: 0, // NEWTRUE
  0x89: 0, // NEWFALSE
  0x8a: -1, // LONG1
  0x8c: -1, // SHORT_BINUNICODE
  0x93: 0, // STACK_GLOBAL
  0x94: 0, // MEMOIZE
};

export const STOP = 0x2e;

/** Refused opcodes without an argument. */
const ALONE = new Set([0x30, 0x31, 0x32, 0x64, 0x6c, 0x6f, 0x81, 0x8f, 0x90, 0x91, 0x92, 0x97, 0x98]);

/**
 * The end of the opcode at a position, with its argument; 0 when the bytes end before it.
 * @param {Uint8Array} b
 * @param {number} at
 * @param {string} where  file name, for messages
 * @param {boolean} [lexing]  only the length is looked for: a global that is refused may come first, and says more
 */
export function endOfOpcode(b, at, where, lexing = false) {
  const size = lexing && ALONE.has(b[at]) ? 0 : ARGUMENT[b[at]];
  if (size === undefined) {
    const name = REFUSED[b[at]] ?? `0x${b[at].toString(16).padStart(2, '0')}`;
    fail('unsupported', `${where}: the pickle has the opcode ${name}, which plain tensors do not need`);
  }
  let end = at + 1;
  if (size >= 0) end += size;
  else if (size === -1) end = at + 1 < b.length ? at + 2 + b[at + 1] : Infinity;
  else if (size === -4) end = at + 5 <= b.length ? at + 5 + u32(b, at + 1) : Infinity;
  else {
    const line = b.indexOf(0x0a, at) + 1;
    const second = line ? b.indexOf(0x0a, line) + 1 : 0;
    end = second || Infinity;
  }
  return end <= b.length ? end : 0;
}

/**
 * @param {Uint8Array} b
 * @param {number} at
 */
const u32 = (b, at) => (b[at] | (b[at + 1] << 8) | (b[at + 2] << 16) | (b[at + 3] << 24)) >>> 0;

/** Where `pickleLength` continues when more bytes have arrived. @typedef {{at: number}} Lexed */

/**
 * The length of the pickle at the start of some bytes.
 * @param {Uint8Array} b
 * @param {string} where  file name, for messages
 * @param {Lexed} lexed  changed; of a call with fewer bytes
 * @returns {number} 0 when the bytes end before it
 */
export function pickleLength(b, where, lexed) {
  while (lexed.at < b.length) {
    const end = endOfOpcode(b, lexed.at, where, true);
    if (!end) return 0;
    if (b[lexed.at] === STOP) return end;
    lexed.at = end;
  }
  return 0;
}
