import { isJsonObject } from 'agent-gateway';
import { type GraphProblem, OPERATORS } from '../../contract/graph.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { type ConfigCheck, checkConfig, checkPath } from './check-config.ts';
import { checkStructure } from './check-structure.ts';
import {
  type DrawnEdge,
  type DrawnGraph,
  type DrawnNode,
  FIXED_TYPES,
  indexNodes,
  readGraph,
  reportUnknown,
} from './drawn-graph.ts';
import { GRAPH_LIMITS } from './graph-schema.ts';
import { jsonFault, ownMember } from './json.ts';
import { createProblems, createSuggest, kindOf, quote } from './problems.ts';

/**
 * Reports all problems of a graph at once (specification 2, Graph validation rules; decisions 2.4): problems of the
 * shape first, then of nodes, of edges, and of the structure. Empty: it is a `Graph` that `compileGraph` takes. Pure;
 * time grows with the size of the graph, and no content of a graph makes it throw. Throws only when a node type's
 * schema or `check` does.
 */
export function checkGraph(graph: unknown, types: NodeTypes): readonly GraphProblem[] {
  const reading = { problems: createProblems(), suggest: createSuggest() };
  const drawn = readGraph(graph, reading);
  if (drawn !== undefined) {
    const check = { ...reading, index: indexNodes(drawn, new Set([...FIXED_TYPES, ...types.names()])) };
    checkNodes(drawn, types, check);
    checkEdges(drawn, check);
    checkStructure(drawn, check);
  }
  return reading.problems.list();
}

const ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Names with a meaning of their own in JavaScript objects. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

/** Checks each node on its own: id, type and configuration. */
function checkNodes({ nodes }: DrawnGraph, types: NodeTypes, check: ConfigCheck): void {
  const known = [...FIXED_TYPES, ...types.names()];
  const seen = new Set<string>();
  for (const node of nodes) {
    checkId(node, seen, check);
    const isUnknown = node.type !== undefined && !known.includes(node.type);
    if (isUnknown) reportType(node, node.type, known, check);
    checkConfig(isUnknown ? { ...node, type: undefined } : node, types, check);
  }
}

function checkId({ id, place, label }: DrawnNode, seen: Set<string>, { problems }: ConfigCheck): void {
  if (id === undefined) return;
  const at = { ...place, pointer: `${place.pointer}/id` };
  if (RESERVED.has(id))
    problems.add('node-id', `A node cannot have the id ${quote(id)}. Choose another.`, at);
  else if (!ID.test(id)) {
    const message = `${label}: an id has 1 to 64 of the characters A-Z a-z 0-9 _ -, since paths name it between dots.`;
    problems.add('node-id', message, at);
  }
  if (seen.has(id)) {
    problems.add('duplicate-node', `More than one node has the id ${quote(id)}. Give each its own.`, at);
  }
  seen.add(id);
}

function reportType(
  { place, label }: DrawnNode,
  type: string,
  known: readonly string[],
  { problems, suggest }: ConfigCheck,
): void {
  const message =
    `${label} has the type ${quote(type)}, which is not known.${suggest(type, known)} Known are ${known.join(', ')}; ` +
    'types of a plugin are there while it is enabled.';
  problems.add('node-type', message, { ...place, pointer: `${place.pointer}/type` });
}

const FIELD_MEMBERS = ['field', 'op', 'value'] as const;
const FORMS = 'Write either {"outcome": …} or {"field": …, "op": …, "value": …}.';

/** Checks each edge on its own: its ends and its condition. Duplicate edges are fine (decisions 2.1). */
function checkEdges({ edges }: DrawnGraph, check: ConfigCheck): void {
  for (const edge of edges) {
    checkEnds(edge, check);
    if (isJsonObject(edge.condition)) checkCondition(edge, edge.condition, check);
  }
  checkComparisons(edges, check);
}

/** Reports, for each node, the first edge above the limit of comparisons. */
function checkComparisons(edges: readonly DrawnEdge[], { problems }: ConfigCheck): void {
  const counts = new Map<string, number>();
  for (const { from, condition, label, place } of edges) {
    if (from === undefined || !isJsonObject(condition) || !Object.hasOwn(condition, 'field')) continue;
    const count = (counts.get(from) ?? 0) + 1;
    counts.set(from, count);
    if (count !== GRAPH_LIMITS.comparisons + 1) continue;
    const message =
      `${label} is comparison ${count} of those that leave ${quote(from)}; ${GRAPH_LIMITS.comparisons} are allowed. ` +
      'Have a step compute where to go, and compare its output.';
    problems.add('too-many-comparisons', message, place);
  }
}

function checkEnds(edge: DrawnEdge, { problems, suggest, index }: ConfigCheck): void {
  const { place, label } = edge;
  for (const end of ['from', 'to'] as const) {
    const id = edge[end];
    if (id === undefined || index.has(id)) continue;
    const message = `${label}: there is no node ${quote(id)}.${suggest(id, index.ids)}`;
    problems.add('edge-endpoint', message, { ...place, pointer: `${place.pointer}/${end}` });
  }
  if (edge.from === undefined || edge.from !== edge.to) return;
  problems.add('self-loop', `${label} leads from a node to itself. Remove it; steps run once.`, place);
}

function checkCondition(edge: DrawnEdge, condition: object, check: ConfigCheck): void {
  const { label } = edge;
  const place = { ...edge.place, pointer: `${edge.place.pointer}/condition` };
  reportUnknown(condition, ['outcome', ...FIELD_MEMBERS], `${label}: the condition`, place, check);
  const isOutcome = Object.hasOwn(condition, 'outcome');
  const isField = FIELD_MEMBERS.some((name) => Object.hasOwn(condition, name));
  if (isOutcome !== isField) {
    if (isOutcome) checkOutcome(edge, condition, check);
    else checkComparison(edge, condition, check);
    return;
  }
  const fault = isOutcome ? 'mixes both forms' : 'has neither form';
  check.problems.add('condition-form', `${label}: the condition ${fault}. ${FORMS}`, place);
}

function checkOutcome(edge: DrawnEdge, condition: object, { problems, index }: ConfigCheck): void {
  const { label, from } = edge;
  const place = { ...edge.place, pointer: `${edge.place.pointer}/condition/outcome` };
  const outcome = ownMember(condition, 'outcome');
  if (typeof outcome !== 'string') {
    problems.add('shape', `${label}: "outcome" must be a string; it is ${kindOf(outcome)}.`, place);
  } else if (outcome === '' || outcome.length > GRAPH_LIMITS.outcome) {
    const message = `${label}: an outcome has 1 to ${GRAPH_LIMITS.outcome} characters; this one has ${outcome.length}.`;
    problems.add('outcome', message, place);
  }
  const type = from === undefined ? undefined : index.typeOf(from);
  if (type === undefined || type === 'human_task') return;
  const message =
    `${label} has an outcome, but ${quote(from ?? '')} is a node of type ${type}: only people choose outcomes. ` +
    'Compare a field of its output instead.';
  problems.add('outcome-source', message, place);
}

function checkComparison(edge: DrawnEdge, condition: object, check: ConfigCheck): void {
  const { label } = edge;
  const { problems } = check;
  const at = (name: string) => ({ ...edge.place, pointer: `${edge.place.pointer}/condition/${name}` });
  for (const name of ['field', 'op'] as const) {
    const member = ownMember(condition, name);
    if (typeof member === 'string') continue;
    if (member === undefined) {
      problems.add('condition-form', `${label}: the condition lacks "${name}". ${FORMS}`, at(name));
    } else problems.add('shape', `${label}: "${name}" must be a string; it is ${kindOf(member)}.`, at(name));
  }
  const field = ownMember(condition, 'field');
  if (typeof field === 'string') checkPath(field, label, at('field'), check);
  const op = ownMember(condition, 'op');
  if (typeof op === 'string') checkOperator(op, label, at('op'), check);
  checkValue(ownMember(condition, 'value'), op, label, at('value'), check);
}

function checkOperator(
  op: string,
  label: string,
  place: DrawnEdge['place'],
  { problems, suggest }: ConfigCheck,
): void {
  if ((OPERATORS as readonly string[]).includes(op)) return;
  const hint = suggest(op, OPERATORS);
  const message = `${label}: the operator ${quote(op)} is not known.${hint} Operators are ${OPERATORS.join(', ')}.`;
  problems.add('operator', message, place);
}

function checkValue(
  value: unknown,
  op: unknown,
  label: string,
  place: DrawnEdge['place'],
  { problems }: ConfigCheck,
): void {
  if (value === undefined) {
    const needed = op === 'exists' ? 'true or false' : 'what to compare with';
    problems.add('value-missing', `${label}: the condition lacks "value": ${needed}.`, place);
    return;
  }
  const fault = jsonFault(value, { bytes: GRAPH_LIMITS.valueBytes, depth: GRAPH_LIMITS.jsonDepth });
  if (fault === 'not-json') problems.add('shape', `${label}: the value is no JSON.`, place);
  else if (fault !== undefined) {
    const message = `${label}: the value is too large. It may be 16 KiB of JSON, on ${GRAPH_LIMITS.jsonDepth} levels.`;
    problems.add('value-too-large', message, place);
  } else if (op === 'exists' && typeof value !== 'boolean') {
    const message = `${label}: the value of "exists" must be true or false; it is ${kindOf(value)}.`;
    problems.add('exists-value', message, place);
  }
}
