// file_name.js - names of files inside the files of a model

/**
 * Whether a text that a model's file contains is the name of a file or folder beside it: no path, not `..`.
 * @param {unknown} name
 * @returns {name is string}
 */
export const isFileName = (name) => typeof name === 'string' && /^(?!\.\.?$)[\w.-]{1,255}$/.test(name);
