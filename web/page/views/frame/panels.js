// panels.js - the panels of the open view, in their order

/** The panels that can stand alone: all but the controls. */
export const panels = () =>
  [...document.querySelectorAll('.view:not([hidden]) .card[data-panel]')].filter(
    (card) => !card.closest('[hidden], [data-panel="prompt"]'),
  );
/** @param {Element | null | undefined} panel */
export const nameOf = (panel) => /** @type {HTMLElement | null | undefined} */ (panel)?.dataset.panel ?? '';
/** The heading of a panel without what stands beside it. @param {Element | undefined} panel */
export const titleOf = (panel) => panel?.querySelector('h2, h3')?.firstChild?.textContent?.trim() ?? '';
/** What the textbook lights, else the first that is in view. */
export const nearest = () =>
  nameOf(
    document.querySelector('.textbook-here')?.closest('[data-panel]') ??
      panels().find((card) => card.getBoundingClientRect().bottom > innerHeight / 3),
  );
