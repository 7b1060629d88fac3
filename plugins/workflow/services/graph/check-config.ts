import { isJsonObject } from 'agent-gateway';
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../../contract/graph.ts';
import type { NodeType } from '../../contract/node-types.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { HumanTaskConfig, MIN_TIMEOUT } from './builtin-config.ts';
import { schemaProblems, type UsableConfig, usableConfig } from './config-schema.ts';
import type { DrawnNode, NodeIndex, Reading } from './drawn-graph.ts';
import type { TemplateModes } from './fill-config.ts';
import { GRAPH_LIMITS, graphCode } from './graph-schema.ts';
import { jsonFault, ownMember, pointerTo } from './json.ts';
import { type ProblemPlace, quote } from './problems.ts';
import { RETRY_DURATIONS, RetryConfig, readDuration } from './retry-policy.ts';
import { isFault, parseReference, parseTemplate, type Reference } from './template.ts';

/** What checking configurations works with. */
export interface ConfigCheck extends Reading {
  readonly index: NodeIndex;
}

/** A node with a configuration that is JSON of a fair size. */
interface ConfiguredNode extends DrawnNode {
  readonly config: JsonObject;
}

/** Checks the configuration of a node. Its type is known, or `undefined`: then what holds for all types is checked. */
export function checkConfig(node: DrawnNode, types: NodeTypes, check: ConfigCheck): void {
  if (!isFair(node, check)) return;
  const { type } = node;
  if (type === 'start' || type === 'end') checkMarker(node, check);
  else if (type === 'human_task') checkHumanTask(node, check);
  else checkAutomatic(node, type === undefined ? undefined : types.get(type), check);
}

function isFair(node: DrawnNode, { problems }: ConfigCheck): node is ConfiguredNode {
  const { config, label, place } = node;
  if (config === undefined) return false;
  const limits = { bytes: GRAPH_LIMITS.configBytes, depth: GRAPH_LIMITS.jsonDepth };
  const fault = jsonFault(config, limits);
  if (fault === undefined) return true;
  const at = { ...place, pointer: `${place.pointer}/config` };
  if (fault === 'not-json') problems.add('shape', `${label}: the configuration holds what is no JSON.`, at);
  else {
    const message = `${label}: the configuration is too large. It may be 64 KiB of JSON, on ${limits.depth} levels. Put large data into the input of runs.`;
    problems.add('config-too-large', message, at);
  }
  return false;
}

function checkMarker({ config, label, place, type }: ConfiguredNode, { problems }: ConfigCheck): void {
  if (Object.keys(config).length === 0) return;
  const message = `${label} is a node of type ${type}, which has no configuration. Leave "config" out.`;
  problems.add('config-unknown', message, { ...place, pointer: `${place.pointer}/config` });
}

function checkHumanTask(node: ConfiguredNode, check: ConfigCheck): void {
  const { label, place } = node;
  const { retry, ...config } = node.config;
  if (retry !== undefined) {
    const message = `${label} is a human task, which cannot have a "retry". Leave it out.`;
    check.problems.add('retry-misplaced', message, { ...place, pointer: `${place.pointer}/config/retry` });
  }
  const usable = checkMembers(node, config, HumanTaskConfig, check);
  checkTemplates(node, config, { timeout: 'none' }, check);
  if (usable === undefined) return;
  const timeout = ownMember(usable.config, 'timeout');
  const duration = timeout === undefined ? undefined : readDuration(timeout, MIN_TIMEOUT);
  if (duration !== undefined && 'fault' in duration) {
    reportMember(node, '/timeout', duration.fault, graphCode('duration'), check);
  }
  if (ownMember(usable.config, 'assignee') === 'role:') {
    reportMember(node, '/assignee', 'names no role. Write role:<name>.', graphCode('config-invalid'), check);
  }
}

function checkAutomatic(node: ConfiguredNode, type: NodeType | undefined, check: ConfigCheck): void {
  const { retry, ...config } = node.config;
  if (retry !== undefined) checkRetry(node, retry, check);
  const usable = type && checkMembers(node, config, type.config, check, ['retry']);
  const modes: TemplateModes = type?.templates ?? {};
  checkTemplates(node, config, modes, check);
  if (type === undefined || usable === undefined) return;
  for (const { pointer, message, code = graphCode('config-invalid') } of typeProblems(type, usable)) {
    reportMember(node, pointer, message, code, check);
  }
}

/** Checks the `retry` of an automatic node. */
function checkRetry(node: ConfiguredNode, retry: Json, check: ConfigCheck): void {
  if (!isJsonObject(retry)) {
    reportMember(node, '/retry', 'must be an object: {"max_attempts": 3}.', graphCode('retry'), check);
    return;
  }
  for (const { pointer, message } of schemaProblems(RetryConfig, retry, check.suggest)) {
    reportMember(node, `/retry${pointer}`, message, graphCode('retry'), check);
  }
  const times = RETRY_DURATIONS.map((name) => {
    const written = ownMember(retry, name);
    // The schema reports what is no text.
    const duration = typeof written === 'string' ? readDuration(written, 0) : undefined;
    if (duration === undefined || 'milliseconds' in duration) return duration?.milliseconds;
    reportMember(node, `/retry/${name}`, duration.fault, graphCode('duration'), check);
    return undefined;
  });
  const [delay, longest] = times;
  if (delay !== undefined && longest !== undefined && longest < delay) {
    const message = 'is shorter than the delay. Make it longer, or leave it out.';
    reportMember(node, '/retry/max_delay', message, graphCode('retry'), check);
  }
}

type TypeProblems = ReturnType<NonNullable<NodeType['check']>>;

/** The problems that the type itself reports, except for members whose fault is reported already. */
function typeProblems(type: NodeType, { config, without }: UsableConfig): TypeProblems {
  if (type.check === undefined) return [];
  if (without.length === 0) return type.check(config);
  let found: TypeProblems;
  try {
    found = type.check(config);
  } catch {
    // The check needs a member whose absence is reported already. Once the member is present, the check is called
    // again, and what it throws then counts.
    return [];
  }
  // Problems of the whole configuration are unreliable while a part of it is missing.
  return found.filter(
    ({ pointer }) =>
      pointer !== '' && !without.some((faulty) => pointer === faulty || pointer.startsWith(`${faulty}/`)),
  );
}

/** Checks the templates of a configuration: at any depth, in values alone, and not where the mode is `none`. */
function checkTemplates(
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
    const reported = rule === 'path' ? 'template' : rule;
    check.problems.add(reported, `${label} ${quote(expression)}, which ${message}`, place);
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

/** Reports what the schema refuses. Returns what can be checked further. */
function checkMembers(
  node: ConfiguredNode,
  config: JsonObject,
  schema: TSchema,
  check: ConfigCheck,
  checkedElsewhere: readonly string[] = [],
): UsableConfig | undefined {
  const problems = schemaProblems(schema, config, check.suggest, checkedElsewhere);
  for (const { rule, pointer, message } of problems) {
    reportMember(node, pointer, message, graphCode(rule), check);
  }
  return problems.length === 0 ? { config, without: [] } : usableConfig(schema, config);
}

/** Reports a problem of one member; `message` goes on after its name. */
function reportMember(
  { label, place, type }: ConfiguredNode,
  pointer: string,
  message: string,
  code: string,
  { problems }: ConfigCheck,
): void {
  const name = pointer === '' ? 'the configuration' : `config${pointer}`;
  const called = type === undefined ? label : `${label} (${type})`;
  problems.addCoded(code, `${called}: ${name} ${message}`, {
    ...place,
    pointer: `${place.pointer}/config${pointer}`,
  });
}
