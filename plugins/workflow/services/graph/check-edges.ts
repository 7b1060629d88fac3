import { OPERATORS } from '../../contract/graph.ts';
import { checkPath } from './check-references.ts';
import type { ConfigCheck } from './config-members.ts';
import { type DrawnEdge, type DrawnGraph, reportUnknown } from './drawn-graph.ts';
import { jsonFault } from './json-fault.ts';
import { isObject, ownMember } from './json-object.ts';
import { GRAPH_LIMITS } from './limits.ts';
import { kindOf, quote } from './quote.ts';

const FIELD_MEMBERS = ['field', 'op', 'value'] as const;
const FORMS = 'Write either {"outcome": …} or {"field": …, "op": …, "value": …}.';

/** Checks every edge by itself: its ends and its condition. Duplicate edges are fine (decisions 2.1). */
export function checkEdges({ edges }: DrawnGraph, check: ConfigCheck): void {
  for (const edge of edges) {
    checkEnds(edge, check);
    if (isObject(edge.condition)) checkCondition(edge, edge.condition, check);
  }
  checkComparisons(edges, check);
}

/** Tells of the first edge that is one too many, of each node. */
function checkComparisons(edges: readonly DrawnEdge[], { problems }: ConfigCheck): void {
  const counts = new Map<string, number>();
  for (const { from, condition, label, place } of edges) {
    if (from === undefined || !isObject(condition) || !Object.hasOwn(condition, 'field')) continue;
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
