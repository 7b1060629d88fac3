import Type from 'typebox';
import type {
  Condition,
  Graph,
  GraphEdge,
  GraphNode,
  JsonObject,
  NodeType,
} from '../../../../plugins/workflow/contract.ts';
import type { NodeTypes } from '../../../../plugins/workflow/services/ports/execution.ts';
import type { Random } from './random.ts';

/** The type of the automatic nodes of simulated graphs. */
export const WORK = 'simulation/work';

const TYPE: NodeType = {
  type: WORK,
  summary: 'Does what the simulation decides.',
  config: Type.Object({ saw: Type.String(), all: Type.String() }, { additionalProperties: false }),
  execute: () => Promise.reject(new Error('simulated effects are carried out by the simulation')),
};

/** The node types that simulated graphs know. */
export const NODE_TYPES: NodeTypes = {
  get: (name) => (name === WORK ? TYPE : undefined),
  names: () => [WORK],
};

/**
 * A valid graph of up to `most` nodes between start and ends: chains, forks, joins, conditional and default edges,
 * edges by outcome, human tasks with and without timeout, retry policies. About one in ten has a node from which, with
 * some outputs, no edge leads on.
 */
export function randomGraph(random: Random, most: number, humans: number): Graph {
  const count = random.integer(1, most);
  const ids = Array.from({ length: count }, (_, index) => `n${index}`);
  const types = new Map(ids.map((id) => [id, random.isTrue(humans) ? 'human_task' : WORK]));
  const ends = random.isTrue(0.3) ? ['e0', 'e1'] : ['e0'];
  const targets = new Map<string, string[]>([['start', []]]);
  const lead = (from: string, to: string) => targets.set(from, [...(targets.get(from) ?? []), to]);

  // A chain mostly goes on from the node before, a fan from any earlier one.
  const closeness = random.next();
  ids.forEach((id, index) => {
    const earlier = ['start', ...ids.slice(0, index)];
    const sources = random.isTrue(0.35) ? random.integer(2, 3) : 1;
    const from = new Set<string>();
    for (let source = 0; source < sources; source += 1) {
      from.add(random.isTrue(closeness) ? earlier.at(-1)! : random.pick(earlier));
    }
    for (const one of from) lead(one, id);
  });
  for (const id of ['start', ...ids]) {
    if (!targets.has(id) || targets.get(id)!.length === 0 || random.isTrue(0.15)) lead(id, random.pick(ends));
  }
  for (const end of ends) if (![...targets.values()].flat().includes(end)) lead(ids.at(-1)!, end);

  const timeouts = new Map(ids.map((id) => [id, random.isTrue(0.5)]));
  const edges: GraphEdge[] = [];
  for (const [from, list] of targets) {
    edges.push(...conditioned(random, from, types.get(from), list, timeouts.get(from) === true, ids));
  }
  const nodes: GraphNode[] = [
    { id: 'start', type: 'start' },
    ...ids.map((id): GraphNode => {
      if (types.get(id) === WORK) return { id, type: WORK, config: workConfig(random, ids) };
      return {
        id,
        type: 'human_task',
        config: timeouts.get(id) ? { timeout: `${random.integer(2, 60)}s` } : {},
      };
    }),
    ...ends.map((id) => ({ id, type: 'end' })),
  ];
  return { nodes, edges };
}

function workConfig(random: Random, ids: readonly string[]): JsonObject {
  const config = {
    saw: `{{input.x}} {{variables.k}} {{steps.${random.pick(ids)}.output.value}}`,
    all: `{{steps.${random.pick(ids)}.output}}`,
  };
  if (random.isTrue(0.6)) return config;
  return {
    ...config,
    retry: {
      max_attempts: random.integer(2, 4),
      delay: `${random.pick(['100ms', '1s', '3s', '12s'])}`,
      backoff: random.pick(['fixed', 'exponential']),
      max_delay: '20s',
    },
  };
}

function conditioned(
  random: Random,
  from: string,
  type: string | undefined,
  targets: readonly string[],
  hasTimeout: boolean,
  ids: readonly string[],
): GraphEdge[] {
  const isHuman = type === 'human_task';
  const edges = targets.map((to): GraphEdge => {
    if (isHuman && random.isTrue(0.5)) {
      const outcomes = hasTimeout ? ['yes', 'no', 'timeout'] : ['yes', 'no'];
      return { from, to, condition: { outcome: random.pick(outcomes) } };
    }
    if (targets.length > 1 && random.isTrue(0.4)) return { from, to, condition: fieldCondition(random, ids) };
    return { from, to };
  });
  // Mostly there is a way on whatever comes.
  const isClosed = edges.every((edge) => edge.condition !== undefined);
  if (isClosed && random.isTrue(0.9)) edges.push({ from, to: random.pick(targets) });
  return edges;
}

function fieldCondition(random: Random, ids: readonly string[]): Condition {
  const field = random.pick([
    'input.x',
    'variables.k',
    `steps.${random.pick(ids)}.output.value`,
    `steps.${random.pick(ids)}.output.flag`,
  ]);
  if (random.isTrue(0.15)) return { field, op: 'exists', value: random.isTrue(0.5) };
  if (field.endsWith('flag')) return { field, op: random.pick(['eq', 'ne']), value: random.isTrue(0.5) };
  return { field, op: random.pick(['lt', 'gte', 'eq', 'ne']), value: random.integer(0, 9) };
}
