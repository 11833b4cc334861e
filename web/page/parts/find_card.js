// find_card.js - finds a card of the open view, for code that opens a view and then scrolls to the card
import { tick } from 'svelte';

const FRAMES = 60; // waited once the code of the view and of its panels is there

/**
 * The card, once its view is there and laid out, however long the view's code takes.
 * @param {string} selector
 * @returns {Promise<Element | null>}  null: the view has no such card
 */
export async function findCard(selector) {
  for (let frames = 0; frames < FRAMES;) {
    await tick();
    const place = document.querySelector(`.view:not([hidden]) ${selector}`);
    if (place) return place;
    if (!document.querySelector('.view:not([hidden]) [data-fetching]')) frames++;
    await new Promise((done) => requestAnimationFrame(done));
  }
  return null;
}
