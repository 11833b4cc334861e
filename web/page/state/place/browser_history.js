// browser_history.js - moves between views through the browser's history, and keeps the address bar current
import { addressOf } from './address.js';
import { keep } from '../base/storage.js';
import { SAMPLER } from '../facts/sampler_options.js';
import { VIEWS, viewOf } from '../facts/views.js';

/** Marks the entries that the page made itself: between them no model is loaded again. */
const OWN_ENTRY = { view: true };

/**
 * Going back and forward changes the view; text, selected token and model stay.
 * @param {import('../store/store.js').Store} store
 * @returns {(name: string) => void} opens a view and adds it to the history, or opens the dialog of models under
 *   'models'
 */
export function createNavigation({ state, set }) {
  history.replaceState(OWN_ENTRY, ''); // a visitor may leave the first view before its address is written
  addEventListener('popstate', (event) => {
    if (event.state?.view) set({ view: { id: viewOf(location.hash) } });
  });
  return (name) => {
    if (name === 'models') set({ view: { choosing: true } });
    const id = VIEWS.find((view) => view.id === name)?.id;
    if (!id || id === state.view.id) return;
    history.pushState(OWN_ENTRY, '', addressOf(state, { id }));
    set({ view: { id } });
    scrollTo(0, 0);
  };
}

let leaving = false; // for another address

/**
 * Open the page as it is in another language.
 * @param {import('../store/state.js').State} state
 * @param {string} language
 */
export function switchLanguage(state, language) {
  leaving = true;
  keep('language', language);
  history.replaceState(null, '', addressOf(state, { language }));
  location.reload();
}

/** An address put into this tab opens as in any other. That of the skip link names no state. */
export function openTypedAddress() {
  addEventListener('hashchange', ({ newURL }) => {
    if (history.state?.view || !new URL(newURL).hash.includes('=')) return;
    leaving = true;
    history.replaceState(null, '', newURL);
    location.reload();
  });
}

/** What an address holds, and what says that the page rests. */
const HELD = {
  view: ['id', 'learn', 'lab', 'assignment', 'openStage', 'unit', 'present', 'features'],
  text: ['prompt', 'source', 'tokens', 'cursor', 'sourceCursor'],
  sampler: Object.keys(SAMPLER),
  attention: ['stack', 'head', 'key', 'form', 'zoom', 'off'],
  engine: ['status', 'model'],
};

/**
 * Keep the address current while the page rests; one whose model did not come stays, to be opened again.
 * @param {import('../store/store.js').Store} store
 */
export function keepAddress({ state, subscribe }) {
  /** @type {any} */
  let timer;
  const write = () => {
    clearTimeout(timer);
    if (!state.engine.model || state.engine.status === 'running') return;
    timer = setTimeout(() => {
      if (!leaving) history.replaceState(OWN_ENTRY, '', addressOf(state));
    }, 300);
  };
  for (const [group, keys] of Object.entries(HELD)) for (const key of keys) subscribe(`${group}.${key}`, write);
  write();
}
