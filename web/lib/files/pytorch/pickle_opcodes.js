// pickle_opcodes.js - the opcodes of a pickle: what each does, how long it is, and where a pickle ends
import { fail } from '../../base/errors.js';

/**
 * An opcode that is known. size: bytes of its argument; -1: a length of one byte and as many bytes, -4: the same with a
 * length of four bytes, -10: two lines; run: with the place of the argument and its end.
 * @typedef {{size: number, run: (m: import('./pickle.js').Unpickler, at: number, end: number) => void}} Opcode
 */
/**
 * @param {number} size
 * @param {Opcode['run']} run
 * @returns {Opcode}
 */
const op = (size, run) => ({ size, run });

/** The opcodes by their bytes. @type {Record<number, Opcode>} */
export const OPCODES = {
  // PROTO
  0x80: op(1, (m, at) => m.bytes[at] > 5 && m.refuse(`its protocol is ${m.bytes[at]}, 0 to 5 are known`)),
  0x95: op(8, () => {}), // FRAME only says how many bytes belong together
  0x28: op(0, (m) => m.mark()), // MARK
  0x2e: op(0, () => {}), // STOP
  0x4e: op(0, (m) => m.push(null)), // NONE
  0x88: op(0, (m) => m.push(true)), // NEWTRUE
  0x89: op(0, (m) => m.push(false)), // NEWFALSE
  0x4a: op(4, (m, at) => m.push(m.view.getInt32(at, true))), // BININT
  0x4b: op(1, (m, at) => m.push(m.bytes[at])), // BININT1
  0x4d: op(2, (m, at) => m.push(m.view.getUint16(at, true))), // BININT2
  0x47: op(8, (m, at) => m.push(m.view.getFloat64(at))), // BINFLOAT
  0x8a: op(-1, (m, at, end) => m.push(m.long(at + 1, end))), // LONG1
  0x58: op(-4, (m, at, end) => m.push(m.text(at + 4, end))), // BINUNICODE
  0x8c: op(-1, (m, at, end) => m.push(m.text(at + 1, end))), // SHORT_BINUNICODE
  0x42: op(-4, (m, at, end) => m.push(m.bytes.slice(at + 4, end))), // BINBYTES
  0x43: op(-1, (m, at, end) => m.push(m.bytes.slice(at + 1, end))), // SHORT_BINBYTES
  0x29: op(0, (m) => m.push([])), // EMPTY_TUPLE
  0x74: op(0, (m) => m.push(m.popMark())), // TUPLE
  0x85: op(0, (m) => m.push(m.popTuple(1))), // TUPLE1
  0x86: op(0, (m) => m.push(m.popTuple(2))), // TUPLE2
  0x87: op(0, (m) => m.push(m.popTuple(3))), // TUPLE3
  0x5d: op(0, (m) => m.push([])), // EMPTY_LIST
  0x61: op(0, (m) => m.append([m.pop()])), // APPEND
  0x65: op(0, (m) => m.append(m.popMark())), // APPENDS
  0x7d: op(0, (m) => m.push(new Map())), // EMPTY_DICT
  0x73: op(0, (m) => m.setItems(m.popTuple(2))), // SETITEM
  0x75: op(0, (m) => m.setItems(m.popMark())), // SETITEMS
  0x71: op(1, (m, at) => m.store(m.bytes[at])), // BINPUT
  0x72: op(4, (m, at) => m.store(m.view.getUint32(at, true))), // LONG_BINPUT
  0x94: op(0, (m) => m.store(m.memo.size)), // MEMOIZE
  0x68: op(1, (m, at) => m.recall(m.bytes[at])), // BINGET
  0x6a: op(4, (m, at) => m.recall(m.view.getUint32(at, true))), // LONG_BINGET
  0x63: op(-10, (m, at, end) => m.pushGlobal(m.text(at, end - 1).split('\n'))), // GLOBAL
  0x93: op(0, (m) => m.pushGlobal(m.popTuple(2))), // STACK_GLOBAL
  0x51: op(0, (m) => m.push(m.meanings.persistent(m.pop()))), // BINPERSID
  0x52: op(0, (m) => m.reduce()), // REDUCE
  0x81: op(0, (m) => m.reduce()), // NEWOBJ
  0x8f: op(0, (m) => m.push([])), // EMPTY_SET
  0x90: op(0, (m) => m.append(m.popMark())), // ADDITEMS
  0x91: op(0, (m) => m.push(m.popMark())), // FROZENSET
  0x62: op(0, (m) => m.build()), // BUILD
};

export const STOP = 0x2e;

/** @param {string} list  names and bytes */
const named = (list) =>
  new Map(Array.from(list.matchAll(/(\w+)=(\w+)/g), ([, name, byte]) => [parseInt(byte, 16), name]));

/** Names of opcodes that are refused, for messages: those without an argument, and the others. */
const ALONE = named('POP=30 POP_MARK=31 DUP=32 DICT=64 LIST=6c OBJ=6f NEWOBJ_EX=92 NEXT_BUFFER=97 READONLY_BUFFER=98');
const REFUSED = named(
  'FLOAT=46 INT=49 LONG=4c PERSID=50 STRING=53 BINSTRING=54 SHORT_BINSTRING=55 UNICODE=56 GET=67 INST=69 PUT=70 ' +
    'EXT1=82 EXT2=83 EXT4=84 LONG4=8b BINUNICODE8=8d BINBYTES8=8e BYTEARRAY8=96',
);

/**
 * The end of the opcode at a position, with its argument; 0 when the bytes end before it.
 * @param {Uint8Array} b
 * @param {number} at
 * @param {string} where  file name, for messages
 * @param {boolean} [lexing]  only the length is looked for: a global that is refused may come first, and says more
 */
export function endOfOpcode(b, at, where, lexing = false) {
  const size = lexing && ALONE.has(b[at]) ? 0 : OPCODES[b[at]]?.size;
  if (size === undefined) {
    const name = ALONE.get(b[at]) ?? REFUSED.get(b[at]) ?? `0x${b[at].toString(16).padStart(2, '0')}`;
    return fail('unsupported', `${where}: the pickle has the opcode ${name}, which plain tensors do not need`);
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

/** The offset at which `pickleLength` continues when more bytes have arrived. @typedef {{at: number}} Lexed */

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
