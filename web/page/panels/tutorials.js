// panels/tutorials.js - what five tutorials claim, run again in the visitor's own browser: expected, found, and where
// they differ.

import * as glassformer from 'glassformer';
import { TUTORIALS, flipping, runClaim } from '../claims/index.js';
import { el, svg } from '../dom.js';
import { figures } from '../text/format.js';

/** @param {HTMLElement} root */
export function create(root) {
  /** @type {HTMLElement} */ (root.querySelector('h2')).append(
    ' ',
    el('small', {}, 'each claim of five tutorials, run by this engine in this tab'),
  );
  const flip = el('input', { type: 'checkbox', id: 'flip-byte' });
  root.append(
    el(
      'div',
      { class: 'flip' },
      flip,
      el('label', { for: 'flip-byte' }, 'Flip one byte in every weight file first'),
      el('span', { class: 'hint' }, 'and see which claims notice'),
    ),
    ...TUTORIALS.map((tutorial) => section(tutorial, () => flip.checked)),
  );
}

/**
 * @param {import('../claims/index.js').Tutorial} tutorial
 * @param {() => boolean} wrong
 */
function section({ number, title, about, open }, wrong) {
  const run = el('button', { type: 'button' }, 'Run', el('span', { class: 'hidden' }, ` tutorial ${number}`));
  const result = el('output', { class: 'result', 'aria-live': 'polite' });
  const body = el('tbody');
  const details = el(
    'details',
    { class: 'claims' },
    el('summary', {}, el('span', { class: 'title' }, `${number}. ${title}`), el('span', { class: 'hint' }, about)),
    el(
      'div',
      { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': `Claims of tutorial ${number}` },
      el(
        'table',
        {},
        el('caption', { class: 'hidden' }, `Claims of tutorial ${number}`),
        el(
          'thead',
          {},
          el('tr', {}, ...['Claim', 'Expected', 'Found', 'Result'].map((name) => el('th', { scope: 'col' }, name))),
        ),
        body,
      ),
    ),
  );

  /** @type {{ claim: import('../claims/check.js').Claim, row: ReturnType<typeof line> }[] | null} */
  let lines = null;
  let busy = false;

  async function fill() {
    if (lines) return lines;
    const { claims } = await open();
    lines ??= claims.map((claim) => {
      const row = line(claim, () => claim.slow && work([claim]));
      body.append(row.node);
      return { claim, row };
    });
    return lines;
  }

  /** @param {import('../claims/check.js').Claim[] | null} only */
  async function work(only) {
    if (busy) return;
    busy = true;
    run.setAttribute('aria-disabled', 'true');
    try {
      await through(only);
    } catch (error) {
      result.textContent = `The claims could not be fetched: ${error instanceof Error ? error.message : error}`;
    } finally {
      run.setAttribute('aria-disabled', 'false');
      busy = false;
    }
  }

  /** @param {import('../claims/check.js').Claim[] | null} only */
  async function through(only) {
    const library = wrong() ? flipping(glassformer) : glassformer;
    const chosen = (await fill()).filter(({ claim }) => (only ? only.includes(claim) : !claim.slow));
    const seen = { same: 0, differs: 0, printed: 0 };
    const began = performance.now();
    for (const { row } of chosen) row.wait();
    for (const [i, { claim, row }] of chosen.entries()) {
      if (!only) result.textContent = `${i} of ${chosen.length} …`;
      const outcome = await runClaim(claim, library);
      row.show(outcome);
      seen[outcome.ok ? 'same' : 'differs']++;
      if (outcome.ok && outcome.printed) seen.printed++;
    }
    if (!only) {
      const said = [
        seen.differs ? `✕ ${seen.differs} of ${chosen.length} differ` : `✓ all ${chosen.length} as expected`,
      ];
      if (seen.printed) said.push(`${seen.printed} printed otherwise`);
      said.push(`${figures((performance.now() - began) / 1000)} s`);
      result.textContent = said.join(', ');
      result.classList.toggle('bad', seen.differs > 0);
    }
  }

  details.addEventListener('toggle', () => {
    if (details.open) fill().catch(() => {});
  }); // Run says what is wrong
  run.addEventListener('click', () => {
    details.open = true;
    work(null);
  });
  return el(
    'div',
    { class: 'tutorial', 'data-tutorial': number },
    details,
    el('div', { class: 'go-tutorial' }, run, result),
  );
}

/**
 * One row.
 * @param {import('../claims/check.js').Claim} claim
 * @param {() => void} alone runs it by itself
 */
function line(claim, alone) {
  const text = el('th', { scope: 'row' }, claim.text);
  const expected = el('td'),
    found = el('td'),
    state = el('td', { class: 'state' });
  const more = el('div', { class: 'more' });
  const node = el('tr', { 'data-claim': claim.id, 'data-state': 'waiting' }, text, expected, found, state);
  const [again, hint] = claim.slow
    ? [
        el(
          'button',
          { type: 'button', onclick: alone },
          'Run this one',
          el('span', { class: 'hidden' }, ` ${claim.text}`),
        ),
        el('span', { class: 'hint' }, ' takes seconds'),
      ]
    : [null, null];
  const said = el('span'); // beside the button, which keeps its focus
  state.append(said, ...[again, hint].filter((n) => n));
  return {
    node,
    wait() {
      node.dataset.state = 'waiting';
      said.textContent = '…';
      hint?.remove();
      expected.textContent = found.textContent = '';
      more.remove();
    },
    /** @param {import('../claims/check.js').Outcome} outcome */
    show(outcome) {
      node.dataset.state = !outcome.ok ? 'differs' : outcome.printed ? 'printed' : 'same';
      expected.textContent = outcome.expected;
      found.textContent = outcome.found;
      said.textContent = !outcome.ok ? '✕ differs' : outcome.printed ? '✓ same, printed otherwise' : '✓ same';
      more.replaceChildren(
        ...[
          outcome.printed && el('p', { class: 'printed' }, `The tutorial prints: ${outcome.printed}`),
          outcome.note && el('p', { class: 'hint' }, outcome.note),
          outcome.series && plot(outcome.series),
        ].filter((n) => n),
      );
      if (more.childElementCount) text.append(more);
    },
  };
}

/**
 * Lines from a common zero, each with its name.
 * @param {{ name: string, values: number[] }[]} series
 */
function plot(series) {
  const most = Math.max(...series.flatMap((s) => s.values)),
    n = Math.max(...series.map((s) => s.values.length));
  const x = (i) => 4 + (i / (n - 1)) * 192,
    y = (v) => 60 - (v / most) * 54;
  return el(
    'figure',
    { class: 'plot' },
    svg(
      'svg',
      {
        viewBox: '0 0 200 64',
        role: 'img',
        'aria-label': series.map((s) => `${s.name}: ${s.values.map(figures).join(', ')}`).join('; '),
      },
      svg('path', { d: 'M4 60H196', class: 'axis' }),
      ...series.map((s, i) =>
        svg('path', {
          class: `line line-${i}`,
          d: s.values.map((v, k) => `${k ? 'L' : 'M'}${x(k).toFixed(1)} ${y(v).toFixed(1)}`).join(''),
        }),
      ),
    ),
    el(
      'figcaption',
      { class: 'hint' },
      ...series.map((s, i) => el('span', {}, `${i ? 'dashed' : 'solid'}: ${s.name}. `)),
      `Highest ${figures(most)}.`,
    ),
  );
}
