// navigation.js - opens views, and follows the browser's history
import { addressOf } from './address.js';
import { OWN_ENTRY, VIEWS, viewOf } from './views.js';

/**
 * Going back and forward changes the view; text, chosen token and model stay.
 * @param {import('./store.js').Store} store
 * @returns {(name: string) => void} opens a view and adds it to the history, or opens the dialog of models under
 *   'models'
 */
export function createNavigation({ state, set }) {
  history.replaceState(OWN_ENTRY, ''); // a visitor may leave the first view before its address is written
  addEventListener('popstate', (event) => {
    if (event.state?.view) set({ view: viewOf(location.hash) });
  });
  return (name) => {
    if (name === 'models') set({ choosing: true });
    const view = VIEWS.find(({ id }) => id === name)?.id;
    if (!view || view === state.view) return;
    history.pushState(OWN_ENTRY, '', addressOf({ ...state, view }));
    set({ view });
    scrollTo(0, 0);
  };
}
