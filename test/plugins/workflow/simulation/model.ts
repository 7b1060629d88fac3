import type { Condition, Graph, GraphNode, Json, JsonObject } from '../../../../plugins/workflow/contract.ts';
import type { RunState } from '../../../../plugins/workflow/services/core/state.ts';

/*
 * What a graph means, written down a second time and from the specification alone (its routing rules, decisions 2.1 and
 * 2.2): nothing here comes from the engine, so both would have to be wrong in the same way.
 */

/** What a node has to be, given what its predecessors did. */
export type Decision = 'undecided' | 'runs' | 'skipped';

/** The data that conditions speak of. */
export interface Context {
  readonly input: JsonObject;
  readonly variables: JsonObject;
  /** Outputs of completed steps. */
  readonly outputs: ReadonlyMap<string, JsonObject>;
}

/**
 * What every node has to be: an edge is taken, dead or open; a node is decided when none of its edges is open, and runs
 * when one is taken.
 */
export function decide(
  graph: Graph,
  taken: (nodeId: string) => readonly number[] | undefined,
): Map<string, Decision> {
  const decisions = new Map<string, Decision>();
  const decisionOf = (node: GraphNode): Decision => {
    const known = decisions.get(node.id);
    if (known !== undefined) return known;
    const decision = node.type === 'start' ? 'runs' : fromEdges(node);
    decisions.set(node.id, decision);
    return decision;
  };
  const fromEdges = (node: GraphNode): Decision => {
    let isTaken = false;
    for (const [index, edge] of graph.edges.entries()) {
      if (edge.to !== node.id) continue;
      const source = graph.nodes.find(({ id }) => id === edge.from)!;
      const decision = decisionOf(source);
      if (decision === 'skipped') continue;
      const ways = decision === 'runs' ? taken(edge.from) : undefined;
      if (ways === undefined) return 'undecided';
      if (ways.includes(index)) isTaken = true;
    }
    return isTaken ? 'runs' : 'skipped';
  };
  for (const node of graph.nodes) decisionOf(node);
  return decisions;
}

/** The edges that a node takes when it completes. */
export function route(graph: Graph, nodeId: string, outcome: string | null, context: Context): number[] {
  const conditional: number[] = [];
  const matching: number[] = [];
  const others: number[] = [];
  for (const [index, edge] of graph.edges.entries()) {
    if (edge.from !== nodeId) continue;
    if (edge.condition === undefined) {
      others.push(index);
      continue;
    }
    conditional.push(index);
    if (holds(edge.condition, outcome, context)) matching.push(index);
  }
  return conditional.length > 0 && matching.length > 0 ? matching : others;
}

/** What a run's context was after a write. */
export function contextOf(state: RunState, variables = state.variables): Context {
  const outputs = new Map<string, JsonObject>();
  for (const step of state.steps.values()) {
    if (step.status === 'completed' && step.output !== null) outputs.set(step.nodeId, step.output);
  }
  return { input: state.input, variables, outputs };
}

function holds(condition: Condition, outcome: string | null, context: Context): boolean {
  if ('outcome' in condition) return condition.outcome === outcome;
  const found = lookUp(condition.field, context);
  const { op, value } = condition;
  if (op === 'exists') return (found !== undefined) === value;
  if (found === undefined) return op === 'ne';
  // Simulated graphs compare numbers and booleans only.
  if (op === 'eq') return found === value;
  if (op === 'ne') return found !== value;
  if (typeof found !== 'number' || typeof value !== 'number') return false;
  if (op === 'lt') return found < value;
  if (op === 'gte') return found >= value;
  throw new Error(`the model does not know the operator ${op}`);
}

function lookUp(field: string, { input, variables, outputs }: Context): Json | undefined {
  const [root, ...path] = field.split('.');
  let value: Json | undefined = root === 'variables' ? variables : input;
  if (root === 'steps') {
    value = outputs.get(path[0]!);
    path.splice(0, 2);
  }
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}
