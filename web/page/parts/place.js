// place.js - finds a card of the open view, for what opens a view and then scrolls to a card of it
import { tick } from 'svelte';

const FRAMES = 60; // waited for the code of a view, at least a second

/**
 * The card, once its view is there and laid out.
 * @param {string} selector
 * @returns {Promise<Element | null>}  null: it has not come
 */
export async function placeOf(selector) {
  for (let frames = 0; frames < FRAMES; frames++) {
    await tick();
    const place = document.querySelector(`.view:not([hidden]) ${selector}`);
    if (place) return place;
    await new Promise((done) => requestAnimationFrame(done));
  }
  return null;
}
