// render_template.js - renders a chat template, which comes with a model and is not trusted, within limits
//
// The language is that of Jinja2 3.1 in the environment that Hugging Face's transformers sets up.
import { rememberedNewest } from '../../base/lazy_value.js';
import { scopesOf } from './name_scopes.js';
import { Rendering } from './rendering.js';
import { fromJson } from './python_values.js';
import { globals } from './template_globals.js';
import { beginRendering } from './template_limits.js';
import { parseTemplate } from './template_parser.js';

/** The newest templates, by their texts. @type {Map<string, ReturnType<typeof compiled>>} */
const newest = new Map();

/** @param {string} template */
function compiled(template) {
  const nodes = parseTemplate(template);
  return { nodes, scopes: scopesOf(nodes) };
}

/**
 * A chat template as text.
 * @param {string} template
 * @param {Record<string, any>} variables  JSON
 * @returns {string}
 * @throws {Error} what is wrong in the template, or which limit it reached
 */
export function renderTemplate(template, variables) {
  beginRendering();
  const { nodes, scopes } = rememberedNewest(newest, template, () => compiled(template));
  const given = new Map(globals());
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) given.set(name, fromJson(value));
  return new Rendering(given, scopes).render(nodes);
}
