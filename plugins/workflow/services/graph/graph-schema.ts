import { Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { OPERATORS } from '../../contract/graph.ts';

/** Bounds of a graph. What is beyond them is refused when a definition is created, changed or published. */
export const GRAPH_LIMITS = {
  nodes: 500,
  edges: 2_000,
  /** Edges that compare something and leave the same node: all of them are asked when it completes. */
  comparisons: 100,
  /** Characters of a node's `name`. */
  name: 200,
  /** Characters of an outcome. */
  outcome: 64,
  /** Bytes of a node's `config`, as JSON in UTF-8. */
  configBytes: 64 * 1024,
  /** Levels of a node's `config`, and of the value of a condition. */
  jsonDepth: 64,
  /** Bytes of the value that a condition compares with, as JSON in UTF-8. */
  valueBytes: 16 * 1024,
  /** Names of a path, all of them counted: `steps.a.output.b` has four. */
  pathDepth: 32,
  /** Characters of a path. */
  pathLength: 1_024,
  /** Milliseconds of a human task's `timeout` and of a delay: ten years. */
  duration: 3_650 * 86_400_000,
  /** Attempts in all of a node that has a `retry` (decisions 2.6). */
  attempts: 10,
  /** Problems of one answer. */
  problems: 1_000,
} as const;

/**
 * Characters of all that templates insert into the configuration of one node, as JSON. A configuration that names a
 * large output many times would otherwise grow without bound.
 */
export const MAX_INSERTED = 2 * 1024 * 1024;

/**
 * The rules of graphs (specification 2, Graph validation rules; decisions 2.4), by the last part of their code
 * `workflow.graph.<rule>`. Codes are stable: clients know them.
 */
export const GRAPH_RULES = {
  shape: 'Graph, nodes, edges and conditions have the members that they need, of the right JSON types.',
  'unknown-member': 'Graph, nodes, edges and conditions have no members that are not known.',
  'too-many-nodes': 'A graph has at most 500 nodes.',
  'too-many-edges': 'A graph has at most 2,000 edges.',
  'node-id':
    'An id has 1 to 64 of the characters `A-Z a-z 0-9 _ -`, and is not `__proto__`, `constructor` or `prototype`.',
  'name-too-long': 'The name of a node has at most 200 characters.',
  'config-too-large': 'The configuration of a node is at most 64 KiB of JSON, on at most 64 levels.',
  'duplicate-node': 'Every node has an id of its own.',
  'node-type':
    'The type of a node is `start`, `end`, `agent_task`, `service_task`, `human_task`, or one that a plugin adds.',
  'start-count': 'There is exactly one start node.',
  'end-count': 'There is at least one end node.',
  'edge-endpoint': 'Both ends of an edge are nodes of the graph.',
  'self-loop': 'No edge leads from a node to itself.',
  cycle: 'No path leads from a node back to it.',
  unreachable: 'A path leads from the start node to every node.',
  'start-incoming': 'No edge leads to the start node.',
  'dead-end': 'Every node but an end node has an outgoing edge.',
  'end-outgoing': 'No edge leaves an end node.',
  'condition-form': 'A condition is either `{outcome}` or `{field, op, value}`.',
  operator:
    'An operator is `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `exists`, `contains`, `startsWith` or `endsWith`.',
  'value-missing': 'A condition with `field` and `op` has a `value`.',
  'value-too-large':
    'The value that a condition compares with is at most 16 KiB of JSON, on at most 64 levels.',
  'too-many-comparisons': 'At most 100 edges with `{field, op, value}` leave a node.',
  'exists-value': 'The value of the operator `exists` is `true` or `false`.',
  outcome: 'An outcome has 1 to 64 characters.',
  'outcome-source': 'Edges with an outcome leave human tasks only.',
  path: 'A path is `input.<field>`, `variables.<key>` or `steps.<node id>.output.<field>`.',
  'path-depth': 'A path has at most 32 names.',
  template: 'What stands in `{{ }}` is a path.',
  'unknown-node': 'Paths in conditions and templates name nodes of the graph.',
  'config-missing': 'The configuration has what the type of the node needs: `prompt`, `url`.',
  'config-unknown': 'The configuration has no members that the type of the node does not know.',
  'config-invalid': 'The members of the configuration have values that the type of the node can use.',
  url: 'The URL of a service task begins with `http://` or `https://`, or is one template as a whole.',
  'secret-host': 'With `secret_headers` the URL of a service task has its scheme and host written out.',
  method: 'The method of a service task is GET, POST, PUT, PATCH, DELETE or HEAD.',
  duration: 'Durations are written like `30s`, `5m`, `720h` or `7d`.',
  retry: 'A `retry` is `{max_attempts, delay, backoff, max_delay}`, with 10 attempts in all at most.',
  'retry-misplaced': 'Nodes that a worker carries out can have a `retry`; start, end and human tasks cannot.',
  'more-problems': 'The graph has more problems than one answer lists.',
} as const;

/** Name of a rule, as it stands in its code. */
export type GraphRule = keyof typeof GRAPH_RULES;

/** The code of a rule: `workflow.graph.cycle`. */
export function graphCode(rule: GraphRule): string {
  return `workflow.graph.${rule}`;
}

const NodeSchema = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9_-]+$',
      patternErrorMessage: 'must have 1 to 64 of the characters A-Z a-z 0-9 _ -',
      description: 'Unique in the graph; paths name it: `steps.<id>.output`',
    }),
    type: Type.String({
      description:
        '`start` (exactly one), `end` (one or more), `agent_task`, `service_task`, `human_task`, or `<plugin>/<type>`',
      examples: ['agent_task'],
    }),
    name: Type.Optional(
      Type.String({ maxLength: GRAPH_LIMITS.name, description: 'For people; default: the id' }),
    ),
    config: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'By type. `agent_task`: `prompt`, `agent`, `model`, `max_iterations`, `retry`. `service_task`: `url`, `method`, `headers`, `secret_headers`, `body`, `retry`. ' +
          '`human_task`: `assignee`, `instructions`, `timeout`. Texts may hold `{{input.<field>}}`, `{{variables.<key>}}` and ' +
          '`{{steps.<node id>.output.<field>}}`',
      }),
    ),
  },
  { description: 'One thing that is done' },
);

const OutcomeSchema = Type.Object(
  {
    outcome: Type.String({
      minLength: 1,
      maxLength: GRAPH_LIMITS.outcome,
      description: 'The outcome with which the human task was completed',
    }),
  },
  { additionalProperties: false },
);

const ComparisonSchema = Type.Object(
  {
    field: Type.String({
      maxLength: GRAPH_LIMITS.pathLength,
      description: '`input.<field>`, `variables.<key>` or `steps.<node id>.output.<field>`',
    }),
    op: Type.Enum([...OPERATORS]),
    value: Type.Unknown({ description: 'Any JSON; for `exists` a boolean' }),
  },
  { additionalProperties: false },
);

const EdgeSchema = Type.Object(
  {
    from: Type.String({ description: 'Id of the node that it leaves' }),
    to: Type.String({ description: 'Id of the node that it leads to' }),
    condition: Type.Optional(
      Type.Union([OutcomeSchema, ComparisonSchema], {
        description: 'When it is taken. Without one: when no conditional edge of the same node is',
      }),
    ),
  },
  { description: 'What comes after a node' },
);

const EXAMPLE = {
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'approve',
      type: 'human_task',
      config: { instructions: 'May {{input.customer}} have a discount?' },
    },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'approve' },
    { from: 'approve', to: 'end' },
  ],
};

/**
 * The shape of a graph, for the OpenAPI document and for editors. It allows everything that `checkGraph` allows; the
 * rules themselves, with their codes, are in `checkGraph`.
 */
export const GraphSchema = Type.Object(
  {
    nodes: Type.Array(NodeSchema, { maxItems: GRAPH_LIMITS.nodes }),
    edges: Type.Array(EdgeSchema, { maxItems: GRAPH_LIMITS.edges }),
  },
  {
    description: 'A directed graph without cycles: what is done, and what comes after what',
    examples: [EXAMPLE],
  },
);

/**
 * The same for bodies of requests: it documents the shape and lets everything pass, so that `checkGraph` reports all
 * problems at once, each with its code. Its static type is what should be there; only `checkGraph` checks it.
 */
export const GraphInput = Type.Unsafe<Static<typeof GraphSchema>>({ documentedAs: GraphSchema });
