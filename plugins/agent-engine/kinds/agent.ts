import { Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { MAX_ITERATIONS, SIGNAL_TYPES, TASK_CLASS } from '../contract.ts';

/** The forms that `tools[].ref` takes, for people. */
export const TOOL_REF_FORMS =
  'builtin/<name>, mcp://<server>/<tool>, mcp://<server>/*, skill://<name> or plugin/<plugin>/<tool>';

const ToolEntry = Type.Object({
  ref: Type.String({ minLength: 1, maxLength: 256, description: `The tool: ${TOOL_REF_FORMS}` }),
  requires_approval: Type.Optional(
    Type.Boolean({ description: 'A person is asked before each call; default false' }),
  ),
});

const SubAgentEntry = Type.Object({
  ref: Type.String({ minLength: 1, maxLength: 63, description: 'Name of another Agent resource' }),
  role: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_000,
      description: 'What the supervisor hands over to it; default: the description of the agent',
    }),
  ),
});

const Evolution = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Default false' })),
    collect: Type.Optional(
      Type.Array(Type.Enum([...SIGNAL_TYPES]), {
        uniqueItems: true,
        description: 'Signals that are collected; empty, or absent: all',
      }),
    ),
    task_class: Type.Optional(
      Type.String({
        pattern: TASK_CLASS,
        patternErrorMessage: 'must have 1 to 64 of the characters a-z 0-9 -',
        description: 'The kind of all its tasks; absent: found by their words',
      }),
    ),
    advise: Type.Optional(
      Type.Object({
        min_confidence: Type.Optional(
          Type.Number({ minimum: 0, maximum: 1, description: 'Genes below it give no advice' }),
        ),
        max_suggestions: Type.Optional(
          Type.Integer({ minimum: 0, maximum: 20, description: 'Suggestions in the prompt at most' }),
        ),
      }),
    ),
  },
  { description: 'Learning from experience, where a plugin does' },
);

/** `spec` of the kind Agent. */
export const AgentSpec = Type.Object(
  {
    type: Type.Enum(['chat_model_agent', 'supervisor'], {
      description:
        '`chat_model_agent`: a model with tools. `supervisor`: one that also hands work over to other agents',
    }),
    model: Type.Optional(
      Type.Object({
        primary: Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'Alias of the model; default: `default`, and for a sub-agent its supervisor’s',
        }),
      }),
    ),
    system_prompt: Type.Optional(
      Type.String({ maxLength: 65_536, description: 'Instructions, which answers do not give away' }),
    ),
    tools: Type.Optional(
      Type.Array(ToolEntry, { maxItems: 128, description: 'What the agent may use; default: nothing' }),
    ),
    sub_agents: Type.Optional(
      Type.Array(SubAgentEntry, {
        maxItems: 16,
        description: 'For a supervisor: whom it hands work over to',
      }),
    ),
    max_iterations: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_ITERATIONS,
        description: `Calls of the model in one turn at most; default ${MAX_ITERATIONS}`,
      }),
    ),
    evolution: Type.Optional(Evolution),
  },
  { description: 'An agent that callers name by metadata.name' },
);

/** A checked `spec` of the kind Agent. */
export type AgentSpec = Static<typeof AgentSpec>;

/** The kind Agent, as far as editors need to know it. */
export const AgentKind = {
  kind: 'Agent',
  summary: 'An agent: instructions, a model, tools, and the agents that it hands work over to',
  spec: AgentSpec,
} as const;
