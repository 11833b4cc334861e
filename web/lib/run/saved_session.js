// saved_session.js - a session as bytes: its tokens, keys and values
//
// Little-endian: 8 bytes of MAGIC; six uint32: version, bytes of the description, tokens, positions in the cache, bytes
// of a block of the cache, 1 where edits were in effect; the description as UTF-8; the tokens as int32; the blocks of
// 64 positions as gf_session_save writes them; the SHA-256 of all bytes before it. A description is the configuration
// as JSON, the type of the cache and the types of the weights, each in a line.
import { fail } from '../base/errors.js';
import { checkedIds } from '../base/checks.js';
import { digestOfBytes } from '../files/transfer/sha256.js';
import { failContextFull } from './generation_options.js';

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { Sequence } from './sequence.js' */

const MAGIC = 'GFsessn\n';
const VERSION = 2;
const HEADER_BYTES = MAGIC.length + 6 * 4;
const DIGEST_BYTES = 32;

/** The SHA-256 of a state's bytes without the last DIGEST_BYTES. @param {Uint8Array<ArrayBuffer>} bytes */
const digestOf = (bytes) => digestOfBytes(bytes.subarray(0, bytes.length - DIGEST_BYTES));

/**
 * What a model must have in common with the one whose session was saved.
 * @param {LoadedModel} model
 */
const description = ({ config, kvDtype, table }) =>
  [JSON.stringify(config), kvDtype, table.rows.map(({ dtype }) => dtype).join(' ')].join('\n');

/**
 * Write a session.
 * @param {LoadedModel} model
 * @param {{sequence: Sequence, ids: number[]}} entry
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function savedBytes(model, { sequence, ids }) {
  const { session } = sequence;
  const text = new TextEncoder().encode(description(model));
  const cached = model.config.causal ? session.length : 0; // otherwise the next call runs every token again
  const blockBytes = session.blockBytes;
  const blocks = Math.ceil(cached / model.engine.schema.kv_block);
  const idsAt = HEADER_BYTES + text.length;
  const blocksAt = idsAt + 4 * ids.length;
  const end = blocksAt + blocks * blockBytes;
  const out = new Uint8Array(end + DIGEST_BYTES);
  const view = new DataView(out.buffer);
  out.set(new TextEncoder().encode(MAGIC));
  [VERSION, text.length, ids.length, cached, blockBytes, sequence.isEdited ? 1 : 0].forEach((x, i) =>
    view.setUint32(MAGIC.length + 4 * i, x, true),
  );
  out.set(text, HEADER_BYTES);
  ids.forEach((id, i) => view.setInt32(idsAt + 4 * i, id, true));
  for (let i = 0; i < blocks; i++) out.set(session.saveBlock(i), blocksAt + i * blockBytes);
  out.set(await digestOf(out), end);
  return out;
}

/**
 * Fill a new sequence from saved bytes. After an error the caller closes it.
 * @param {LoadedModel} model
 * @param {Sequence} sequence  of an encoder-decoder with its source, and with captures and edits
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {import('../base/event_loop.js').Yielder} yielder
 * @returns {Promise<number[]>} all tokens of the session
 */
export async function restore(model, sequence, bytes, yielder) {
  const { session } = sequence;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER_BYTES)
    fail('truncated', `the state has ${bytes.length} bytes, its header alone has ${HEADER_BYTES}`);
  if (MAGIC.split('').some((c, i) => bytes[i] !== c.charCodeAt(0)))
    fail('bad-file', 'these bytes are not a saved session');
  const [version, textBytes, n, cached, blockBytes, edited] = Array.from({ length: 6 }, (_, i) =>
    view.getUint32(MAGIC.length + 4 * i, true),
  );
  if (version !== VERSION) fail('unsupported', `the state has version ${version}, expected ${VERSION}`);
  const { kv_block: block } = model.engine.schema;
  const blocks = Math.ceil(cached / block);
  const idsAt = HEADER_BYTES + textBytes;
  const blocksAt = idsAt + 4 * n;
  const end = blocksAt + blocks * blockBytes + DIGEST_BYTES;
  if (bytes.length !== end)
    fail(bytes.length < end ? 'truncated' : 'bad-file', `the state has ${bytes.length} bytes, expected ${end}`);
  const lines = new TextDecoder().decode(bytes.slice(HEADER_BYTES, idsAt)).split('\n');
  const own = description(model).split('\n');
  if (lines[0] !== own[0]) fail('bad-file', 'the state was saved by a model with another configuration');
  if (lines[1] !== own[1])
    fail('bad-file', `the state has a cache of type ${lines[1]?.slice(0, 20)}, this model one of ${own[1]}`);
  if (lines[2] !== own[2] || lines.length !== own.length)
    fail('bad-file', 'the state was saved by a model with weights of other types');
  if (n > session.context) failContextFull('state', n, session.context);
  const sizes = `${cached} of ${n} positions in blocks of ${blockBytes} bytes`;
  if (cached > n || edited > 1 || blockBytes !== session.blockBytes || (cached && !model.config.causal))
    fail('bad-file', `the header of the state is malformed: ${sizes}`);
  const digest = await digestOf(bytes);
  if (digest.some((byte, i) => byte !== bytes[end - DIGEST_BYTES + i]))
    fail('bad-file', 'the state was damaged: the checksum at its end is not that of its bytes');
  const ids = checkedIds(
    Array.from({ length: n }, (_, i) => view.getInt32(idsAt + 4 * i, true)),
    'list of saved ids',
    model.config.vocab_size,
  );
  /** @type {(i: number) => Uint8Array} */
  const saved = (i) => bytes.subarray(blocksAt + i * blockBytes, blocksAt + (i + 1) * blockBytes);
  const isEdited = edited === 1 || sequence.isEdited;
  sequence.isEdited = isEdited;
  session.plan(cached);
  for (let i = 0; i < blocks; i++) {
    session.restoreBlock(ids.slice(i * block, Math.min(cached, (i + 1) * block)), saved(i));
    await yielder.yieldIfDue();
  }
  if (cached && !isEdited) {
    // The last position, computed again from all others, has the same bits only in the model that computed them.
    session.rewind(cached - 1);
    session.eval([ids[cached - 1]]);
    const last = session.saveBlock(blocks - 1);
    if (saved(blocks - 1).some((byte, i) => byte !== last[i]))
      fail('bad-file', 'the state was saved by a model with other weights or another source, or it was changed');
  }
  return ids;
}
