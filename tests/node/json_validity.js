// json_validity.js - whether a JSON value is valid under a schema: written for the tests, from the specification of JSON
// Schema, with JavaScript's own readers of dates, addresses and regular expressions
import { isIPv4, isIPv6 } from 'node:net';

/** Equal values have the same text: the keys of an object have no order. @param {any} value */
const ordered = (value) =>
  JSON.stringify(value, (_, part) =>
    part?.constructor === Object ? Object.fromEntries(Object.entries(part).sort()) : part,
  );

const isDate = (text) => {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : new Date(NaN);
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text;
};
const isTime = (text) =>
  /^\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
  !text.startsWith('24') &&
  !Number.isNaN(Date.parse(`2000-01-01T${text}`));
const isHostname = (text) =>
  text.length <= 253 &&
  text.split('.').every((label) => /^[a-z\d-]{1,63}$/i.test(label) && !/^-|-$/.test(label)) &&
  new URL(`http://${text}`).hostname === text.toLowerCase();
const isUrl = (text) => {
  try {
    return new URL(text).href.length > 0;
  } catch {
    return false;
  }
};

/** Whether a text has a format. @type {Record<string, (text: string) => boolean>} */
export const FORMATS = {
  date: isDate,
  time: isTime,
  'date-time': (text) => text[10] === 'T' && isDate(text.slice(0, 10)) && isTime(text.slice(11)),
  // ISO 8601, of which RFC 3339 leaves out durations that skip a unit
  duration: (text) =>
    /^P(?=.)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(text) &&
    !/Y\d+D|H\d+S/.test(text),
  email(text) {
    const at = text.lastIndexOf('@');
    const name = text.slice(0, at);
    return (
      at > 0 &&
      name.length <= 64 &&
      name.split('.').every((part) => /^[^\s"(),:;<>@[\\\].\u007f-\uffff]+$/.test(part)) &&
      text.slice(at + 1).includes('.') &&
      isHostname(text.slice(at + 1))
    );
  },
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  uuid: (text) =>
    text
      .split('-')
      .map((part) => part.length)
      .join() === '8,4,4,4,12' && /^[\da-f]*$/i.test(text.replaceAll('-', '')),
  uri: (text) => /^[a-z][a-z\d+.-]*:/i.test(text) && !/[\s"<>\\^`{|}]|%(?![\da-f]{2})/i.test(text) && isUrl(text),
};

/** Whether a number of at most 15 digits is a multiple of another: the quotient is rounded by less than its 15th digit. */
const isMultiple = (value, of) => Number.isInteger(Number((value / of).toPrecision(15)));

/**
 * @param {any} value
 * @param {any} schema
 * @param {any} [root]
 * @returns {boolean}
 */
export function isValid(value, schema, root = schema) {
  if (typeof schema === 'boolean') return schema;
  if (schema.$ref !== undefined) {
    const path = schema.$ref.slice(1).split('/').slice(1);
    const target = path.reduce((part, key) => part[key], root);
    if (!isValid(value, target, root)) return false;
  }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const is = (type) => type === kind || (type === 'integer' && Number.isInteger(value));
  if (schema.type !== undefined && ![schema.type].flat().some(is)) return false;
  const same = (other) => ordered(other) === ordered(value);
  if (schema.enum !== undefined && !schema.enum.some(same)) return false;
  if (schema.const !== undefined && !same(schema.const)) return false;
  const fits = (s) => isValid(value, s, root);
  if (schema.allOf !== undefined && !schema.allOf.every(fits)) return false;
  if (schema.anyOf !== undefined && !schema.anyOf.some(fits)) return false;
  if (schema.oneOf !== undefined && schema.oneOf.filter(fits).length !== 1) return false;
  if (kind === 'string') {
    const n = [...value].length;
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) return false;
    if (schema.format !== undefined && !FORMATS[schema.format](value)) return false;
    return n >= (schema.minLength ?? 0) && n <= (schema.maxLength ?? Infinity);
  }
  if (kind === 'number') return isNumberValid(value, schema);
  if (kind === 'array') {
    if (value.length < (schema.minItems ?? 0) || value.length > (schema.maxItems ?? Infinity)) return false;
    return value.every((item, i) => isValid(item, schema.prefixItems?.[i] ?? schema.items ?? true, root));
  }
  if (kind === 'object') {
    if (!(schema.required ?? []).every((name) => Object.hasOwn(value, name))) return false;
    return Object.entries(value).every(([name, item]) => {
      const { properties = {}, additionalProperties: others = true, propertyNames = true } = schema;
      if (!isValid(name, propertyNames, root)) return false;
      return isValid(item, Object.hasOwn(properties, name) ? properties[name] : others, root);
    });
  }
  return true;
}

/**
 * @param {number} value
 * @param {any} schema
 */
function isNumberValid(value, schema) {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  return (
    Number.isFinite(value) &&
    value >= minimum &&
    value <= maximum &&
    value > exclusiveMinimum &&
    value < exclusiveMaximum &&
    (schema.multipleOf === undefined || isMultiple(value, schema.multipleOf))
  );
}
