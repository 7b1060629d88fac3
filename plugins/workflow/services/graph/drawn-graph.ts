import { isJsonObject } from 'agent-gateway';
import { GRAPH_LIMITS } from './graph-schema.ts';
import { ownMember, pointerTo } from './json.ts';
import { type GraphProblems, kindOf, type ProblemPlace, quote, type Suggest } from './problems.ts';

/**
 * A graph as its author drew it, unchecked. Members that are missing or of the wrong type are `undefined`, and
 * reported.
 */
export interface DrawnGraph {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

export interface DrawnNode {
  readonly place: ProblemPlace;
  /** How messages call it. */
  readonly label: string;
  readonly id: string | undefined;
  readonly type: string | undefined;
  /** Empty when there is none. */
  readonly config: object | undefined;
}

export interface DrawnEdge {
  readonly place: ProblemPlace;
  /** How messages call it. */
  readonly label: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** `null` when there is none. */
  readonly condition: object | null | undefined;
}

/** What reading works with. */
export interface Reading {
  readonly problems: GraphProblems;
  readonly suggest: Suggest;
}

/**
 * Reads the shape of a graph. `undefined` when there is nothing to read, or far too much: the rest is not read then.
 */
export function readGraph(graph: unknown, reading: Reading): DrawnGraph | undefined {
  const { problems } = reading;
  if (!isJsonObject(graph)) {
    const message = `A graph is an object with "nodes" and "edges"; this is ${kindOf(graph)}.`;
    problems.add('shape', message, { pointer: '' });
    return undefined;
  }
  reportUnknown(graph, ['nodes', 'edges'], 'The graph', { pointer: '' }, reading);
  const nodes = readList(graph, 'nodes', problems);
  const edges = readList(graph, 'edges', problems);
  if (nodes === undefined || edges === undefined) return undefined;
  return {
    nodes: nodes.map((node, index) => readNode(node, index, reading)),
    edges: edges.map((edge, index) => readEdge(edge, index, reading)),
  };
}

const TOO_MANY = { nodes: 'too-many-nodes', edges: 'too-many-edges' } as const;

function readList(
  graph: object,
  name: 'nodes' | 'edges',
  problems: GraphProblems,
): readonly unknown[] | undefined {
  const list = ownMember(graph, name);
  const pointer = pointerTo(name);
  if (!Array.isArray(list)) {
    problems.add('shape', `"${name}" must be an array; it is ${kindOf(list)}.`, { pointer });
    return undefined;
  }
  if (list.length <= GRAPH_LIMITS[name]) return list;
  const message = `There are ${list.length} ${name}; ${GRAPH_LIMITS[name]} are allowed. Split the workflow, or start another one from a step.`;
  problems.add(TOO_MANY[name], message, { pointer });
  return undefined;
}

function readNode(node: unknown, index: number, reading: Reading): DrawnNode {
  const pointer = pointerTo('nodes', index);
  const written = isJsonObject(node) ? ownMember(node, 'id') : undefined;
  const id = typeof written === 'string' ? written : undefined;
  const label = id === undefined ? `Node ${index}` : `Node ${quote(id)}`;
  const place = { pointer, ...(id === undefined ? {} : { node: id }) };
  const members = openMembers(node, ['id', 'type', 'name', 'config'], { label, place }, reading);
  if (members === undefined) return { place, label, id, type: undefined, config: undefined };
  const name = members.text('name', false);
  if (name !== undefined && name.length > GRAPH_LIMITS.name) {
    const message = `${label} has a name of ${name.length} characters; ${GRAPH_LIMITS.name} are allowed.`;
    reading.problems.add('name-too-long', message, { ...place, pointer: `${pointer}/name` });
  }
  return {
    place,
    label,
    id: members.text('id', true),
    type: members.text('type', true),
    config: members.object('config', {}),
  };
}

function readEdge(edge: unknown, index: number, reading: Reading): DrawnEdge {
  const place = { pointer: pointerTo('edges', index), edge: index };
  const [from, to] = ['from', 'to'].map((end) => (isJsonObject(edge) ? ownMember(edge, end) : undefined));
  const label =
    typeof from === 'string' && typeof to === 'string'
      ? `The edge ${quote(from)} → ${quote(to)}`
      : `Edge ${index}`;
  const members = openMembers(edge, ['from', 'to', 'condition'], { label, place }, reading);
  return {
    place,
    label,
    from: members?.text('from', true),
    to: members?.text('to', true),
    condition: members?.object('condition', null),
  };
}

/** Members of a node or an edge, whose wrong types are reported. */
function openMembers(
  value: unknown,
  known: readonly string[],
  { label, place }: { readonly label: string; readonly place: ProblemPlace },
  reading: Reading,
) {
  const { problems } = reading;
  if (!isJsonObject(value)) {
    problems.add('shape', `${label} must be an object; it is ${kindOf(value)}.`, place);
    return undefined;
  }
  reportUnknown(value, known, label, place, reading);
  const wrong = (name: string, needed: string, found: unknown): undefined => {
    const pointer = place.pointer + pointerTo(name);
    problems.add('shape', `${label}: "${name}" must be ${needed}; it is ${kindOf(found)}.`, {
      ...place,
      pointer,
    });
  };
  return {
    text(name: string, isRequired: boolean): string | undefined {
      const member = ownMember(value, name);
      if (typeof member === 'string' || (member === undefined && !isRequired)) return member;
      return wrong(name, 'a string', member);
    },
    /** `absent` when there is none. */
    object<T>(name: string, absent: T): object | T | undefined {
      const member = ownMember(value, name);
      if (member === undefined) return absent;
      return isJsonObject(member) ? member : wrong(name, 'an object, or left out', member);
    },
  };
}

/** Unknown members of one object that are reported. */
const MAX_UNKNOWN = 10;

/** Reports unknown members: a misspelt one should not pass silently. */
export function reportUnknown(
  value: object,
  known: readonly string[],
  label: string,
  place: ProblemPlace,
  { problems, suggest }: Reading,
): void {
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  for (const name of unknown.slice(0, MAX_UNKNOWN)) {
    const message = `${label} has a member ${quote(name)}, which is not known.${suggest(name, known)} Known are ${known.join(', ')}.`;
    problems.add('unknown-member', message, { ...place, pointer: place.pointer + pointerTo(name) });
  }
}

/** Types that are not carried out by a worker. */
export const FIXED_TYPES = ['start', 'end', 'human_task'] as const;

export type NodeIndex = ReturnType<typeof indexNodes>;

/** The nodes of a drawn graph by id. `known`: names of all types. */
export function indexNodes({ nodes }: DrawnGraph, known: ReadonlySet<string>) {
  const byId = new Map<string, DrawnNode>();
  const ambiguous = new Set<string>();
  for (const node of nodes) {
    if (node.id === undefined) continue;
    if (byId.has(node.id)) ambiguous.add(node.id);
    else byId.set(node.id, node);
  }
  return {
    /** Each id once. */
    ids: [...byId.keys()],
    has: (id: string) => byId.has(id),
    /** The node of an id; the first, where several have it. */
    get: (id: string) => byId.get(id),
    /** The type of the node, if it is known and only one node has the id; else undefined. */
    typeOf: (id: string) => {
      const type = ambiguous.has(id) ? undefined : byId.get(id)?.type;
      return type !== undefined && known.has(type) ? type : undefined;
    },
  };
}
