import fc from 'fast-check';
import type { RunData } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import { auto, buildGraph, type EdgeSketch, end, human, type NodeSketch, start } from './graph-builder.ts';

/** A random graph, as data: both the engine's graph and the model read it. */
export interface Plan {
  readonly nodes: readonly PlannedNode[];
  readonly edges: readonly PlannedEdge[];
}

export interface PlannedNode {
  readonly id: string;
  readonly kind: 'start' | 'auto' | 'human' | 'end';
  /** Of an automatic node. */
  readonly maxAttempts: number;
  /** Of a human task; 0 for none. */
  readonly timeoutMs: number;
}

export interface PlannedEdge {
  readonly from: string;
  readonly to: string;
  readonly when: When;
}

/** `own`: the member `pick` of the node's own output is this. `variable`: the variable `way` is. */
export type When =
  | { readonly is: 'default' }
  | { readonly is: 'outcome'; readonly value: string }
  | { readonly is: 'own'; readonly value: number }
  | { readonly is: 'variable'; readonly value: number };

/** Milliseconds before a failed attempt is repeated, in all plans. */
export const RETRY_DELAY = 100;

/** The engine's graph of a plan. */
export function graphOf({ nodes, edges }: Plan) {
  const retry = (maxAttempts: number) =>
    ({ maxAttempts, delayMs: RETRY_DELAY, backoff: 'fixed', maxDelayMs: RETRY_DELAY }) as const;
  const sketch = ({ kind, maxAttempts, timeoutMs }: PlannedNode): NodeSketch => {
    if (kind === 'start') return start;
    if (kind === 'end') return end;
    return kind === 'auto'
      ? auto({ retry: retry(maxAttempts) })
      : human(timeoutMs === 0 ? {} : { timeoutMs });
  };
  const condition = ({ from, when }: PlannedEdge): EdgeSketch[2] => {
    if (when.is === 'default') return undefined;
    if (when.is === 'outcome') return when.value;
    if (when.is === 'own') return ({ output }: RunData) => output(from)?.pick === when.value;
    return ({ variables }: RunData) => variables.way === when.value;
  };
  return buildGraph(
    Object.fromEntries(nodes.map((node) => [node.id, sketch(node)])),
    edges.map((edge) => [edge.from, edge.to, condition(edge)] as const),
  );
}

const when: Record<'auto' | 'human', fc.Arbitrary<When>> = {
  auto: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ is: 'default' } as const) },
    fc.record({ is: fc.constant('own' as const), value: fc.nat(1) }),
    fc.record({ is: fc.constant('variable' as const), value: fc.nat(1) }),
  ),
  human: fc.oneof(
    { weight: 2, arbitrary: fc.constant({ is: 'default' } as const) },
    { weight: 2, arbitrary: outcome(['a', 'b', 'timeout']) },
    fc.record({ is: fc.constant('own' as const), value: fc.nat(1) }),
    fc.record({ is: fc.constant('variable' as const), value: fc.nat(1) }),
  ),
};

function outcome(values: readonly string[]): fc.Arbitrary<When> {
  return fc.record({ is: fc.constant('outcome' as const), value: fc.constantFrom(...values) });
}

const innerNode = fc.record({
  kind: fc.constantFrom<'auto' | 'human'>('auto', 'auto', 'human'),
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  timeoutMs: fc.constantFrom(0, 50, 150),
  /** Edges that lead to it, from which of the nodes before it; two may come from the same one. */
  from: fc.array(fc.record({ source: fc.nat(100), auto: when.auto, human: when.human }), {
    minLength: 1,
    maxLength: 3,
  }),
  toEnd: fc.option(fc.nat(1)),
  endWhen: fc.record({ auto: when.auto, human: when.human }),
});

/**
 * Valid graphs: one start, one or two ends, 1 to 7 nodes between them, each of which can always be completed in some
 * way.
 */
export const plans: fc.Arbitrary<Plan> = fc
  .record({
    inner: fc.array(innerNode, { minLength: 1, maxLength: 7, size: 'max' }),
    ends: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ inner, ends }) => {
    const plain = { maxAttempts: 1, timeoutMs: 0 };
    const nodes: PlannedNode[] = [{ id: 'start', kind: 'start', ...plain }];
    const edges: PlannedEdge[] = [];
    for (const [index, { kind, maxAttempts, timeoutMs, from }] of inner.entries()) {
      for (const { source, ...whens } of from) {
        const { id, kind: sourceKind } = nodes[source % nodes.length]!;
        const condition = sourceKind === 'auto' || sourceKind === 'human' ? whens[sourceKind] : whens.auto;
        edges.push({ from: id, to: `n${index}`, when: condition });
      }
      nodes.push({ id: `n${index}`, kind, maxAttempts, timeoutMs });
    }
    for (const [index, { kind, toEnd, endWhen }] of inner.entries()) {
      const isLast = !edges.some(({ from }) => from === `n${index}`);
      if (toEnd !== null || isLast) {
        edges.push({ from: `n${index}`, to: `end${(toEnd ?? 0) % ends}`, when: endWhen[kind] });
      }
    }
    for (let index = 0; index < ends; index += 1) {
      const id = `end${index}`;
      if (!edges.some(({ to }) => to === id)) edges.push({ from: 'start', to: id, when: { is: 'default' } });
      nodes.push({ id, kind: 'end', ...plain });
    }
    return { nodes, edges: edges.map((edge, index) => ({ ...edge, when: passable(nodes, edges, index) })) };
  });

/**
 * The first edge of a node that nobody could take on purpose (all ask for a variable, or the node is the start) loses
 * its condition.
 */
function passable(nodes: readonly PlannedNode[], edges: readonly PlannedEdge[], index: number): When {
  const { from, when } = edges[index]!;
  const siblings = edges.filter((edge) => edge.from === from);
  const isStart = nodes.find(({ id }) => id === from)!.kind === 'start';
  const isStuck = isStart || siblings.every((edge) => edge.when.is === 'variable');
  return isStuck && siblings[0] === edges[index] ? { is: 'default' } : when;
}
