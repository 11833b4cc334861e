// main.js - puts the page together: the state, the engine behind it, the components
import { mount } from 'svelte';
import App from './App.svelte';
import { contextOf } from './state/store/context.js';
import { initialState } from './state/store/state.js';
import { createNavigation } from './state/place/browser_history.js';
import { observed } from './state/store/observed.js';
import { keepOffline, savesData } from './state/place/offline.js';
import { fontsBeforeView, openPage, takeAddress } from './state/place/opening.js';
import { preparePrinting } from './state/place/printing.js';
import { createCalls } from './state/calls/page_calls.js';
import { keepHeadInStack } from './state/calls/shown_attention.js';
import { createStore } from './state/store/store.js';
import { CLAIMS_CODE, VIEW_CODE } from './views/view_code.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const systemTheme = () => (dark.matches ? 'dark' : 'light');

const store = createStore(initialState());
store.set({ view: { theme: systemTheme() } });
dark.addEventListener('change', () => {
  if (!document.documentElement.dataset.theme) store.set({ view: { theme: systemTheme() } });
});
const calls = createCalls(store);
keepHeadInStack(store);
preparePrinting(store);
const go = createNavigation(store);
const asked = takeAddress(store);
void VIEW_CODE[store.state.view.id]?.().catch(() => {}); // on its way meanwhile
await fontsBeforeView(store);

const place = /** @type {HTMLElement} */ (document.querySelector('#page'));
place.replaceChildren(); // the first line of index.html
mount(App, {
  target: place,
  context: contextOf({ page: observed(store), set: store.set, calls, go, store }),
});
await openPage(store, calls, asked);

// From here on the page opens without a network. No file is fetched twice at once. The labs are left to the service worker.
const { labs: _, ...views } = VIEW_CODE;
if (!savesData()) await Promise.all([...Object.values(views), CLAIMS_CODE].map((fetched) => fetched().catch(() => {})));
await keepOffline();
