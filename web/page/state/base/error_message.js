// error_message.js - the message of whatever was thrown

/**
 * The message of an error, or what was thrown in its place as a text.
 * @param {unknown} error
 */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
