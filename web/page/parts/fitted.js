// fitted.js - sizes a text area by its text where CSS cannot yet

/** @type {import('svelte/attachments').Attachment<HTMLTextAreaElement>} */
export function fitted(area) {
  if (CSS.supports('field-sizing', 'content')) return;
  function fit() {
    area.style.blockSize = 'auto';
    area.style.blockSize = `${area.scrollHeight}px`;
  }
  area.addEventListener('input', fit);
  return () => area.removeEventListener('input', fit);
}
