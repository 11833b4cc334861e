// save.js - offers files to save: JSON, and any other content

import { editsOf } from '../facts/switchable_parts.js';
import { provenanceOf } from './result_origin.js';

/**
 * Offer a file under this name.
 * @param {string} name
 * @param {string | Blob} content
 * @param {string} [type]
 */
export function saveFile(name, content, type = 'text/plain') {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * The text as it stands: everything that is needed to make it again, and what came of it.
 * @param {import('../store/state.js').State} s
 */
export async function asJson(s) {
  const provenance = await provenanceOf(s);
  const { name, address, made, config, backend } = s.engine.model ?? {};
  const token = (/** @type {import('../store/state.js').Token} */ t, /** @type {number} */ position) => ({
    position,
    id: t.id,
    text: t.text,
    given: t.given,
    logprob: t.logprob,
  });
  return JSON.stringify(
    {
      model: { name, address, ...(made && { made }), config, backend },
      provenance,
      prompt: s.text.prompt,
      ...(config?.kind === 'encoder_decoder' && {
        source: s.text.source,
        sourceIds: s.text.sourceTokens.map((t) => t.id),
      }),
      sampler: s.sampler,
      fromSeedAlone: s.text.pure,
      tokens: s.text.tokens.map(token),
      branches: s.text.branches.map((b) => ({ at: b.at, tokens: b.tokens.map(token) })),
      off: editsOf(config, s.attention.off),
      speed: s.engine.speed,
      pattern: {
        layer: s.attention.head.layer,
        head: s.attention.head.head,
        rows: s.text.tokens.map((_, q) =>
          Array.from(s.attention.patterns?.row(s.attention.head.layer, s.attention.head.head, q) ?? []),
        ),
      },
    },
    null,
    1,
  );
}
