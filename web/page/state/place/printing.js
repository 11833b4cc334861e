// printing.js - the page on paper: the width of the paper and light colours, while its figures are drawn for it
//
// Between the event and the picture of the page no frame is drawn. Whatever draws by its size or colours draws once more at
// the event itself (draw/measured.js, parts/in_view.js).

/** @param {Pick<import('../store/store.js').Store, 'state' | 'set' | 'flush'>} store */
export function preparePrinting({ state, set, flush }) {
  const root = document.documentElement;
  /** @type {{ chosen: string | undefined, theme: 'light' | 'dark' } | null} */
  let before = null;
  addEventListener('beforeprint', () => {
    before ??= { chosen: root.dataset.theme, theme: state.view.theme };
    root.dataset.printing = '';
    root.dataset.theme = 'light';
    set({ view: { theme: 'light' } });
    flush();
  });
  addEventListener('afterprint', () => {
    if (!before) return;
    const { chosen, theme } = before;
    before = null;
    delete root.dataset.printing;
    if (chosen === undefined) delete root.dataset.theme;
    else root.dataset.theme = chosen;
    set({ view: { theme } });
  });
}
