import type { Graph, GraphNode } from '../../../plugins/workflow/contract.ts';
import { type Shape, STEPS } from './contender.ts';

const steps: readonly GraphNode[] = Array.from({ length: STEPS }, (_, n) => ({
  id: `n${n}`,
  type: 'bench/noop',
  config: { n },
}));

const ends: readonly GraphNode[] = [
  { id: 'start', type: 'start' },
  { id: 'end', type: 'end' },
];

const path = ['start', ...steps.map(({ id }) => id), 'end'];

/** The graphs of the benchmark. */
export const GRAPHS: Readonly<Record<Shape, Graph>> = {
  chain: {
    nodes: [...ends, ...steps],
    edges: path.slice(1).map((to, n) => ({ from: path[n] as string, to })),
  },
  fan: {
    nodes: [...ends, ...steps],
    edges: steps.flatMap(({ id }) => [
      { from: 'start', to: id },
      { from: id, to: 'end' },
    ]),
  },
};
