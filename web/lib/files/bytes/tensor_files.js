// tensor_files.js - tensors as files of numpy and safetensors
import { fail, show } from '../../base/errors.js';
import { concatenate } from './chunks.js';
import { zip } from './write_zip.js';

/** @import { Tensor } from '../../engine/engine.js' */

const utf8 = new TextEncoder();

/**
 * The values of a tensor as little-endian bytes.
 * @param {Tensor} tensor
 * @param {string} what
 */
function bytesOf(tensor, what) {
  const { shape, data } = tensor ?? {};
  const isShape = Array.isArray(shape) && shape.every((n) => Number.isInteger(n) && n >= 0);
  if (!isShape || shape.reduce((a, b) => a * b, 1) !== data?.length)
    fail('bad-argument', `${what} is ${show(tensor)}, expected a tensor: { shape, data }`);
  const values = /** @type {Float32Array | Int8Array} */ (data);
  if (values instanceof Int8Array) return new Uint8Array(values.slice().buffer);
  const out = new DataView(new ArrayBuffer(4 * data.length));
  for (let i = 0; i < data.length; i++) out.setFloat32(4 * i, data[i], true);
  return new Uint8Array(out.buffer);
}

/**
 * A header, filled with spaces, and what follows it.
 * @param {Uint8Array} before  of the text
 * @param {string} text
 * @param {string} end
 * @param {number} multiple    of which the length of all three is one
 * @param {Uint8Array[]} parts
 */
function joined(before, text, end, multiple, parts) {
  const length = before.length + text.length + end.length;
  const header = utf8.encode(text + ' '.repeat(Math.ceil(length / multiple) * multiple - length) + end);
  const all = [before, header, ...parts];
  const out = concatenate(
    all,
    all.reduce((n, { length }) => n + length, 0),
  );
  const view = new DataView(out.buffer);
  if (end) view.setUint16(8, header.length, true);
  else view.setBigUint64(0, BigInt(header.length), true);
  return out;
}

/**
 * The format of numpy.save, version 1.0.
 * @param {Tensor} tensor
 * @param {string} [what]  for messages
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toNpy(tensor, what = 'the tensor') {
  const data = bytesOf(tensor, what);
  const shape = tensor.shape.join(', ') + (tensor.shape.length === 1 ? ',' : '');
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`;
  return joined(Uint8Array.of(0x93, ...utf8.encode('NUMPY'), 1, 0, 0, 0), text, '\n', 64, [data]);
}

/**
 * The format of numpy.savez. numpy.load gives a member that is no array as bytes.
 * @param {Record<string, Tensor>} tensors
 * @param {object | null} provenance  null: none is known
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toNpz(tensors, provenance) {
  const members = Object.entries(tensors).map(
    ([name, tensor]) => /** @type {[string, Uint8Array]} */ ([`${name}.npy`, toNpy(tensor, name)]),
  );
  if (provenance) members.push(['provenance.json', utf8.encode(JSON.stringify(provenance))]);
  return zip(members);
}

/**
 * @param {Record<string, Tensor>} tensors
 * @param {Record<string, string>} [metadata]
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toSafetensors(tensors, metadata) {
  if (metadata && Object.values(metadata).some((text) => typeof text !== 'string'))
    fail('bad-argument', `the metadata is ${show(metadata)}, expected texts by name`);
  let at = 0;
  const parts = Object.entries(tensors).map(([name, tensor]) => bytesOf(tensor, name));
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { shape, data }], i) => [
      name,
      {
        dtype: /** @type {any} */ (data) instanceof Int8Array ? 'I8' : 'F32',
        shape,
        data_offsets: [at, (at += parts[i].length)],
      },
    ]),
  );
  return joined(new Uint8Array(8), ascii({ __metadata__: metadata, ...header }), '', 8, parts);
}

/** JSON in which each character is a byte. @param {object} header */
const ascii = (header) =>
  JSON.stringify(header).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * A safetensors file whose header has these texts.
 * @param {Uint8Array} file  well-formed, without any
 * @param {Record<string, string>} metadata
 */
export function withMetadata(file, metadata) {
  const start = 8 + Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, start)));
  return joined(new Uint8Array(8), ascii({ __metadata__: metadata, ...header }), '', 8, [file.subarray(start)]);
}
