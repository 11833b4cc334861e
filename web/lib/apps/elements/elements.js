// elements.js - the entry glassformer/elements: defines the custom elements, and has their public types
import { FormerFigure } from './glass_former.js';
import { AttentionFigure } from './glass_attention.js';
import { NextFigure } from './glass_next.js';
import { ParametersFigure } from './glass_parameters.js';
import { TokensFigure } from './glass_tokens.js';

/** @import { Model } from '../../api/model.js' */

/**
 * A token in plain data: its text, or text and id.
 * @typedef {string | { text: string, id?: number }} GlassToken
 */
/**
 * What all elements have. model: a loaded model, which stays the caller's. src: the address of one, loaded once for
 * all elements with the same address, and disposed when the last of them leaves the document. text: what the model
 * reads. The event `error` (an ErrorEvent) follows a load that failed and data of another form.
 * @typedef {HTMLElement & { model: Model | null, src: string | null, text: string | null }} GlassElement
 */
/**
 * `<glass-attention>`: heads as pictures, one of them large. layer, head and query count from 0. pattern: weights from
 * 0 to 1 as [query][key], [head][query][key] or [layer][head][query][key], or a tensor of this shape. keys: of a
 * cross-attention. The event `choose` has { layer, head, query, key }.
 * @typedef {GlassElement & { layer: number, head: number, query: number, data: { tokens: readonly GlassToken[],
 *   pattern: unknown, keys?: readonly GlassToken[] } | null }} GlassAttention
 */
/**
 * `<glass-tokens>`: a strip of tokens. The event `choose` has { position, token }.
 * @typedef {GlassElement & { chosen: number, data: readonly GlassToken[] | null }} GlassTokens
 */
/**
 * `<glass-parameters>`: parameters by component. data: rows as of `model.parameters.rows`.
 * @typedef {GlassElement & { data: readonly { component: string, count: number, bytes: number,
 *   tiedTo?: string | null }[] | null }} GlassParameters
 */
/**
 * A token that may follow.
 * @typedef {{ text: string, id?: number, probability: number, logit?: number | null }} GlassCandidate
 */
/**
 * `<glass-next>`: the ten likeliest next tokens.
 * @typedef {GlassElement & { data: readonly GlassCandidate[] | null }} GlassNext
 */
/**
 * `<glass-former>`: prompt, text, heads and next token. data: a figure without a model. The event `done` has { text }.
 * @typedef {GlassElement & { data: { tokens: readonly GlassToken[], pattern?: unknown,
 *   candidates?: readonly GlassCandidate[] } | null }} GlassFormer
 */
/**
 * The elements by tag.
 * @typedef {{ 'glass-attention': GlassAttention, 'glass-tokens': GlassTokens, 'glass-next': GlassNext }
 *   & { 'glass-parameters': GlassParameters, 'glass-former': GlassFormer }} GlassElements
 */

const CLASSES = {
  'glass-attention': AttentionFigure,
  'glass-tokens': TokensFigure,
  'glass-parameters': ParametersFigure,
  'glass-next': NextFigure,
  'glass-former': FormerFigure,
};

/**
 * The tags that importing this module defines in a document; none where there is no document.
 * @type {readonly string[]}
 */
export const TAGS = Object.keys(CLASSES);

if (globalThis.customElements)
  for (const [tag, figure] of Object.entries(CLASSES)) if (!customElements.get(tag)) customElements.define(tag, figure);
