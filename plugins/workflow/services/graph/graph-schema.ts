import Type, { type Static } from 'typebox';
import { OPERATORS } from '../../contract/graph.ts';
import { GRAPH_LIMITS } from './limits.ts';

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

/**
 * The shape of a graph, for the OpenAPI document and for editors. It allows whatever `checkGraph` allows; the rules themselves, with their codes, are there.
 */
export const GraphSchema = Type.Object(
  {
    nodes: Type.Array(NodeSchema, { maxItems: GRAPH_LIMITS.nodes }),
    edges: Type.Array(EdgeSchema, { maxItems: GRAPH_LIMITS.edges }),
  },
  { description: 'A directed graph without cycles: what is done, and what comes after what' },
);

/**
 * The same for bodies of requests: it documents the shape and lets everything pass, so that `checkGraph` tells all problems at once, each with its code.
 * Its static type is what should be there; nobody has looked before `checkGraph` did.
 */
export const GraphInput = Type.Unsafe<Static<typeof GraphSchema>>(
  Type.Union([
    GraphSchema,
    Type.Unknown({ description: 'Anything else is refused with all problems of the graph' }),
  ]),
);
