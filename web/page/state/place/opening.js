// opening.js - opens the page: the model and text of its address, or the first shipped model, and then everything that
// a first visit does not wait for
import { applicable, readAddress } from './address.js';
import { keepAddress, openTypedAddress } from './browser_history.js';
import { followAddress } from './open_address.js';
import { SHIPPED, shippedModelAt } from '../facts/shipped_models.js';
import { keep, recall } from '../base/storage.js';
import { pause } from '../base/yielding.js';
import { savesData } from './offline.js';

/** @typedef {import('../store/store.js').Store} Store */
/** @typedef {import('../calls/page_calls.js').Calls} Calls */

/**
 * The response to the request for the first model that the page's head has sent already (vite.config.js).
 * @type {Promise<Response> | undefined}
 */
let requested = /** @type {any} */ (window).firstModel;

/**
 * A fetch function that answers the first request for that model with this response, if it arrived. It makes every
 * other request itself.
 * @type {typeof fetch}
 */
async function fetchRequested(input, init) {
  if (String(input) !== new URL(SHIPPED[0].file, document.baseURI).href) return fetch(input, init);
  const response = await requested?.catch(() => null);
  requested = undefined;
  if (init?.signal?.aborted) response?.body?.cancel().catch(() => {}); // its bytes would take the line from others
  return response?.ok ? response : fetch(input, init);
}

const FONTS_MS = 500; // that a whole text or another view waits for them
const FEW = 4; // tokens
/** @type {Promise<void> | undefined} */
let coming; // the fonts
let isViewShown = false; // another view than Write, before they came

/**
 * The fonts, once. In Write they come after the first text, which they would delay on a slow line; a visitor who returns
 * has them. Where more than a few words are read by then, of a text or of another view, they wait until the visitor does
 * something: under a text nothing moves.
 * @param {Store} store
 */
function fonts({ state, set }) {
  const fetched = async () => {
    await import('../../fonts.css').catch(() => {}); // system fonts do as well
    await Promise.all([...document.fonts].map((face) => face.load().catch(() => {})));
    const apply = () => {
      document.documentElement.dataset.fonts = '';
      set({ view: { fonts: true } });
    };
    const reads = state.view.id === 'write' ? state.text.tokens.filter((t) => !t.given).length > FEW : isViewShown;
    if (!reads) apply();
    else for (const type of ['click', 'keydown']) addEventListener(type, apply, { once: true });
  };
  return (coming ??= fetched());
}

/** Another view than Write comes in the fonts that it stays in, where they are near. @param {Store} store */
export async function fontsBeforeView(store) {
  if (store.state.view.id === 'write') return;
  await Promise.race([fonts(store), pause(FONTS_MS)]);
  isViewShown = true;
}

const LARGER = SHIPPED.find((m) => m.better) ?? null;

/**
 * The larger model is offered once, when a visitor's first story is written; not on a phone or where the browser saves
 * data, since the line may be paid by the byte.
 * @param {Store} store
 */
function offerLarger({ state, set, subscribe }) {
  if (recall('offered') || savesData() || matchMedia('(max-width: 34rem)').matches) return;
  const end = subscribe('engine.status', () => {
    const { status, model } = state.engine;
    if (status !== 'done' && status !== 'paused') return;
    end();
    if (model?.address !== SHIPPED[0].file) return;
    keep('offered', 'yes');
    set({ engine: { offer: LARGER } });
  });
}

/** Whether the visitor has done something, or came by an address that asks for more than a model. */
function watchVisitor(/** @type {boolean} */ came) {
  const visitor = { touched: came };
  for (const type of ['pointerdown', 'keydown', 'drop'])
    addEventListener(type, () => (visitor.touched = true), { once: true, capture: true });
  return visitor;
}

/**
 * Load what the address asks for, or the first model.
 * @param {Store} store
 * @param {Calls} calls
 * @param {ReturnType<typeof readAddress>} asked
 */
async function openFirst(store, calls, asked) {
  const none = () => !store.state.engine.model && !store.state.engine.progress; // here or on its way
  const wanted = shippedModelAt(asked.model ?? '') ?? SHIPPED[0];
  const made = !!asked.made && (await calls.make(asked.made.config, asked.made.seed, asked.opens));
  if (asked.made && !made && none()) {
    asked = applicable({ ...asked, from: 'random weights' });
    store.set({ view: { note: asked.note } });
  }
  if (!made && none())
    await calls.loadModel(new URL(wanted.file, document.baseURI), {
      name: wanted.name,
      address: wanted.file,
      opens: { ...wanted.opens, ...asked.opens },
      ...(requested && wanted === SHIPPED[0] && { fetch: fetchRequested }),
    });
  // a text that comes whole comes in the fonts that it stays in, where they are near
  if (asked.written || asked.ids) await Promise.race([fonts(store), pause(FONTS_MS)]);
  if (made || store.state.engine.model?.address === wanted.file) await followAddress(asked, store, calls);
  if (none()) store.set({ engine: { offer: LARGER } });
}

/** What the address holds becomes the state; components that are made after it begin in the view that it names. @param {Store} store */
export function takeAddress(store) {
  openTypedAddress();
  const asked = applicable(readAddress(location.hash));
  store.set(asked.state);
  store.set({ view: { note: asked.note } });
  return asked;
}

/**
 * @param {Store} store
 * @param {Calls} calls
 * @param {ReturnType<typeof readAddress>} asked  by the address
 */
export async function openPage(store, calls, asked) {
  const visitor = watchVisitor(location.hash.length > 1 && asked.asks);
  if (navigator.serviceWorker?.controller) void fonts(store);
  await openFirst(store, calls, asked);
  keepAddress(store);
  offerLarger(store);

  // A page that was only opened begins to write by itself, unless motion is unwelcome; Stop is where it always is.
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const begin = () => !visitor.touched && !still && document.visibilityState === 'visible' && void calls.write();
  if (store.state.engine.model) begin();
  await fonts(store);
}
