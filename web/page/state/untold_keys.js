// untold_keys.js - what a checkpoint without config.json leaves to be told

/**
 * The keys of the configuration that neither names nor shapes of its tensors tell, as the library's refusal lists them.
 * @param {string} message
 * @returns {{ key: string, choices: string[] }[]}  choices: the families that fit, where that is asked
 */
export function untoldKeys(message) {
  const [, list = ''] = /the tensors do not tell (.+?): give (?:it|them) in the option config/.exec(message) ?? [];
  return [...list.matchAll(/(\w+)(?: \(the names fit ([^)]+)\))?(?:, | and |$)/g)].map(([, key, choices]) => ({
    key,
    choices: choices?.split(', ') ?? [],
  }));
}

/** A typed value: a number, true, false or a word. @param {string} text */
export function toldValue(text) {
  const typed = text.trim();
  if (typed === 'true' || typed === 'false') return typed === 'true';
  return typed !== '' && Number.isFinite(Number(typed)) ? Number(typed) : typed;
}
