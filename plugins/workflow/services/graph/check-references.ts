import type { Json, JsonObject } from '../../contract/graph.ts';
import type { ConfigCheck, ConfiguredNode } from './config-members.ts';
import type { TemplateModes } from './fill-config.ts';
import type { ProblemPlace } from './graph-problems.ts';
import { pointerTo } from './json-pointer.ts';
import { quote } from './quote.ts';
import { isFault, parseReference, type Reference } from './reference.ts';
import { parseTemplate } from './template.ts';

/** Checks the templates of a configuration: at any depth, in values alone, and not where the mode is `none`. */
export function checkTemplates(
  node: ConfiguredNode,
  config: JsonObject,
  modes: TemplateModes,
  check: ConfigCheck,
): void {
  for (const [name, value] of Object.entries(config)) {
    if (Object.hasOwn(modes, name) && modes[name] === 'none') continue;
    walkTexts(value, `/config${pointerTo(name)}`, (text, pointer) => {
      const place = { ...node.place, pointer: node.place.pointer + pointer };
      checkTemplate(text, `${node.label}: ${pointer.slice(1)} holds`, place, check);
    });
  }
}

/** Checks the `field` of a condition. */
export function checkPath(field: string, label: string, place: ProblemPlace, check: ConfigCheck): void {
  const parsed = parseReference(field);
  if (!isFault(parsed)) checkNode(parsed, `${label}: the path ${quote(field)}`, place, check);
  else check.problems.add(parsed.rule, `${label}: the path ${quote(field)} ${parsed.message}`, place);
}

function checkTemplate(text: string, label: string, place: ProblemPlace, check: ConfigCheck): void {
  const { parts, faults } = parseTemplate(text);
  for (const { rule, expression, message } of faults) {
    const told = rule === 'path' ? 'template' : rule;
    check.problems.add(told, `${label} ${quote(expression)}, which ${message}`, place);
  }
  const nodes = new Set<string>();
  for (const part of parts) {
    if (typeof part === 'string' || part.node === undefined || nodes.has(part.node)) continue;
    nodes.add(part.node);
    checkNode(part, `${label} ${quote(`{{${part.text}}}`)}, which`, place, check);
  }
}

function checkNode(
  { node }: Reference,
  label: string,
  place: ProblemPlace,
  { problems, suggest, index }: ConfigCheck,
): void {
  if (node === undefined || index.has(node)) return;
  const message = `${label} names the node ${quote(node)}, which is not in the graph.${suggest(node, index.ids)}`;
  problems.add('unknown-node', message, place);
}

/** Visits the texts of a JSON value that is not nested too deeply. */
function walkTexts(value: Json, pointer: string, visit: (text: string, pointer: string) => void): void {
  if (typeof value === 'string') visit(value, pointer);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) walkTexts(member, pointer + pointerTo(name), visit);
}
