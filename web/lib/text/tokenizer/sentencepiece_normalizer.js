// sentencepiece_normalizer.js - how SentencePiece normalises a text: the normalizer of vocabularies that were read from
// its files or from GGUF
import { show } from '../../base/errors.js';
import { Charsmap, bytesOfBase64 } from './charsmap.js';

const SPACE = 32;
/** The mark for a space. */
const MARK = [0xe2, 0x96, 0x81];
const encoder = new TextEncoder();
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Options as in SentencePiece's normalizer_spec and trainer_spec: precompiled_charsmap, add_dummy_prefix,
 * remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix; `kept`: texts that are not normalised.
 * @param {import('./component.js').Component} options
 * @returns {import('./normalise.js').Normalizer}
 */
export function sentencePieceNormalizer(options) {
  const base64 = options.text('precompiled_charsmap', '');
  const table = base64 ? bytesOfBase64(base64) : null;
  if (base64 && !table) options.refuse('precompiled_charsmap is not base64');
  const charsmap = table ? new Charsmap(table, options) : null;
  const kept = options.json.kept ?? [];
  if (!Array.isArray(kept) || !kept.every((each) => typeof each === 'string' && each))
    options.refuse(`kept is ${show(kept)}, expected a list of texts`);
  const rules = {
    charsmap,
    kept: kept.map((/** @type {string} */ text) => encoder.encode(text)).sort((a, b) => b.length - a.length),
    prefix: options.flag('add_dummy_prefix', true),
    single: options.flag('remove_extra_whitespaces', true),
    space: options.flag('escape_whitespaces', true) ? MARK : [SPACE],
    suffix: options.flag('treat_whitespace_as_suffix', false),
  };
  return (text) => normalised(text, rules);
}

/**
 * @param {string} text
 * @param {{charsmap: Charsmap | null, kept: Uint8Array[], prefix: boolean, single: boolean, space: number[],
 *   suffix: boolean}} rules  kept: long ones first
 */
function normalised(text, { charsmap, kept, prefix, single, space, suffix }) {
  const bytes = encoder.encode(text);
  const n = bytes.length;
  /** @type {number[]} */
  const out = [];
  let afterSpace = single;
  let isBlank = single || !n; // whether it consists of spaces
  for (let at = 0; at < n;) {
    const own = kept.find((each) => each.every((byte, i) => bytes[at + i] === byte));
    const found = own ? null : charsmap?.longest(bytes, at, n);
    const lead = bytes[at];
    const end = own ? at + own.length : (found?.end ?? at + (lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4));
    const part = own ?? found?.text ?? bytes.subarray(at, end);
    at = end;
    isBlank &&= part.length === 1 && part[0] === SPACE;
    let from = 0;
    while (afterSpace && part[from] === SPACE) from++;
    if (from === part.length) continue;
    for (let i = from; i < part.length; i++)
      if (part[i] === SPACE) out.push(...space);
      else out.push(part[i]);
    afterSpace = single && part[part.length - 1] === SPACE;
  }
  if (single)
    while (out.length && space.every((byte, i) => out[out.length - space.length + i] === byte))
      out.length -= space.length;
  const isEmpty = isBlank || (single && !suffix && !out.length);
  const all = !prefix || isEmpty ? out : suffix ? [...out, ...space] : [...space, ...out];
  return utf8.decode(Uint8Array.from(all));
}
