// page_pictures.js - a small picture for each page of the textbook: shapes in a box of 40 by 28, each in the hue of what it
// stands for

/** A closed path is filled, an open one is drawn. @typedef {[d: string, hue: 'q' | 'k' | 'v' | 'f' | 'p' | 'ink', open?: boolean]} Shape */

const bar = (/** @type {number} */ x, /** @type {number} */ height) => `M${x} 24v${-height}h5v${height}z`;
const row = (/** @type {number} */ y, /** @type {number} */ width, x = 6) => `M${x} ${y}h${width}v4h${-width}z`;
const triangle = (/** @type {number} */ x, /** @type {number} */ y) => `M${x} ${y}v9h9z`;

/** @type {Record<string, Shape[]>} by the ids of pages */
export const PICTURES = {
  token: [
    ['M3 9h9v10h-9z', 'ink'],
    ['M14 9h14v10h-14z', 'p'],
    ['M30 9h7v10h-7z', 'ink'],
  ],
  embedding: [
    ['M6 4h28M6 10h28M6 18h28M6 24h28', 'ink', true],
    ['M6 11h28v6h-28z', 'p'],
  ],
  position: [
    ['M3 14C7 1 13 1 17 14S27 27 31 14l3-8', 'q', true],
    ['M3 14h34', 'ink', true],
  ],
  qkv: [
    [row(4, 28), 'q'],
    [row(12, 28), 'k'],
    [row(20, 28), 'v'],
  ],
  heads: [3, 15, 27].flatMap(
    (x) =>
      /** @type {Shape[]} */ ([
        [triangle(x, 3), 'p'],
        [triangle(x, 15), x === 15 ? 'p' : 'ink'],
      ]),
  ),
  scores: [
    ['M5 8h14', 'q', true],
    ['M5 20h14', 'k', true],
    ['M19 8L30 14M19 20L30 14', 'ink', true],
    ['M29 10h8v8h-8z', 'p'],
  ],
  mask: [
    ['M8 3v22h22z', 'p'],
    ['M12 3h18v18z', 'ink', true],
  ],
  softmax: [
    [bar(6, 3), 'p'],
    [bar(13, 8), 'p'],
    [bar(20, 19), 'p'],
    [bar(27, 5), 'p'],
  ],
  mix: [
    ['M3 5C20 5 20 14 30 14', 'v', true],
    ['M3 14h27', 'v', true],
    ['M3 23C20 23 20 14 30 14', 'v', true],
    ['M29 10h8v8h-8z', 'v'],
  ],
  cross: [
    ['M4 3h12v8h-12z', 'q'],
    ['M4 17h12v8h-12z', 'k'],
    ['M16 21C26 21 26 7 36 7M16 7h20', 'p', true],
  ],
  stream: [
    ['M3 19h34', 'ink', true],
    ['M14 6v13M11 15l3 4 3-4M27 6v13M24 15l3 4 3-4', 'p', true],
  ],
  norm: [
    ['M20 4a10 10 0 1 0 .1 0z', 'ink', true],
    ['M20 14l7-7M27 7h-5M27 7v5', 'p', true],
  ],
  ffn: [['M3 11L14 4h12l11 7v6l-11 7h-12l-11-7z', 'f']],
  logits: [
    [row(3, 28), 'p'],
    [row(12, 14), 'p'],
    [row(21, 5), 'p'],
  ],
  sampling: [
    ['M9 3h22v22h-22z', 'p', true],
    ['M14 8h3v3h-3zM23 17h3v3h-3zM18.500 12.500h3v3h-3z', 'p'],
  ],
  cache: [
    [row(3, 10), 'k'],
    [row(3, 10, 20), 'v'],
    [row(11, 10), 'k'],
    [row(11, 10, 20), 'v'],
    ['M6 19h10v4h-10zM20 19h10v4h-10z', 'ink', true],
  ],
  parameters: [
    ['M5 5h30M5 12h30M5 19h30M18 5v18', 'ink', true],
    ['M5 21h30v3h-30z', 'p'],
  ],
  cost: [
    ['M5 4v20h31', 'ink', true],
    ['M5 22L36 8', 'p', true],
  ],
  training: [
    ['M5 4v20h31', 'ink', true],
    ['M7 5C10 20 20 20 35 21', 'p', true],
  ],
  induction: [
    ['M4 16h6v6h-6z', 'ink'],
    ['M12 16h6v6h-6z', 'p'],
    ['M28 16h6v6h-6z', 'ink'],
    ['M31 14C29 3 17 3 15 13', 'p', true],
  ],
  edits: [
    ['M8 6h24v16h-24z', 'ink', true],
    ['M8 22L32 6', 'k', true],
  ],
};
