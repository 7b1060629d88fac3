import { defineErrors, extensionPoint, serviceRef } from 'agent-gateway';
import type { RunContext } from './run-context.ts';

/** A JSON Schema of an object. */
export type ParameterSchema = Readonly<Record<string, unknown>>;

/** What a tool gets in addition to its arguments. */
export interface ToolContext extends RunContext {
  /** The provider's id of the call. */
  readonly callId: string;
  /** The agents from the outermost to the one that calls, by name. */
  readonly agentPath: readonly string[];
}

/** One field of a question to a person. */
export interface QuestionField {
  /** Letters, digits and `_`. */
  readonly name: string;
  readonly type: 'text' | 'confirm' | 'select';
  readonly label: string;
  readonly required: boolean;
  /** For `select`. */
  readonly options?: readonly string[];
}

/** What a person is asked. The run pauses until a person answers. */
export interface Question {
  readonly reason: string;
  readonly fields: readonly QuestionField[];
}

/**
 * The result of a tool. `content` is for the model: text, or JSON as text. `isTimeout` is an error of a tool that has a
 * deadline of its own: its receipt says `timeout`.
 */
export type ToolResult =
  | { readonly content: string; readonly isError?: boolean; readonly isTimeout?: boolean }
  | { readonly question: Question };

/** Something that a model may call. */
export interface Tool {
  /** Where it comes from: `builtin/calculator`, `mcp://server/tool`, `skill://name`, `plugin/<plugin>/<tool>`. */
  readonly ref: string;
  /** What the model calls it: `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
  /** For the model: what it does, when to use it, what comes back. */
  readonly description: string;
  /** JSON Schema (2020-12) of the arguments; checked before `invoke`. */
  readonly parameters: ParameterSchema;
  /** Milliseconds for one call; default 60,000. A call that takes longer is a receipt of status `timeout`. */
  readonly timeoutMs?: number;
  /** Runs it. What it throws becomes an error result; only the words of a `GatewayError` reach the model. */
  invoke(input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolResult>;
}

/** A provider of tools: built-in ones, an MCP server, a plugin. */
export interface ToolSource {
  /** What the refs of its tools begin with: `builtin/`, `plugin/notes/`, `mcp://search/`. */
  readonly prefix: string;
  /**
   * The tools that a tenant has now. Rejects when the source is unavailable; the tools of the other sources are then
   * offered without it.
   */
  list(tenantId: string, signal: AbortSignal): readonly Tool[] | Promise<readonly Tool[]>;
}

/** The description of a tool. */
export type ToolInfo = Pick<Tool, 'ref' | 'name' | 'description' | 'parameters'>;

/** The tools of the deployment, from all sources. */
export interface Tools {
  /**
   * The tools that a tenant may use now, within its sandbox policy: what an agent without tools of its own is offered,
   * under the same names, 128 at most. A source that is away or slow is left out and logged. Throws the reason of the
   * signal.
   */
  list(tenantId: string, signal: AbortSignal): Promise<readonly ToolInfo[]>;
  /**
   * Runs a tool of that list for a person who asks for it, by its ref or its name, within its deadline, and writes its
   * receipt. The result is redacted. Throws `tool.not-found`, `tool.parameters-invalid`, `tool.needs-approval`,
   * `tool.asks`, and the reason of the signal.
   */
  invoke(call: ToolInvocation): Promise<ToolOutcome>;
}

/** A call of a tool by a person. */
export interface ToolInvocation {
  /** Ref or name. */
  readonly tool: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly context: RunContext;
}

/** The result of a call. */
export interface ToolOutcome {
  /** Text, or JSON as text; of a failure its reason. */
  readonly content: string;
  readonly isError: boolean;
}

/** Errors of the call of a tool before it runs. */
export const ToolErrors = defineErrors({
  notFound: { code: 'tool.not-found', kind: 'not-found', title: 'There is no such tool' },
  parametersInvalid: {
    code: 'tool.parameters-invalid',
    kind: 'invalid',
    title: 'The parameters do not fit the tool',
  },
  needsApproval: {
    code: 'tool.needs-approval',
    kind: 'conflict',
    title: 'An agent may use this tool only with the approval of a person; ask the agent instead',
  },
  asks: {
    code: 'tool.asks',
    kind: 'conflict',
    title: 'The tool asks a question, which only a chat with an agent can answer',
  },
});

/** The tools, for plugins that show or run them. */
export const ToolsRef = serviceRef<Tools>('agent-engine.tool-catalog');

/** Tools of other plugins. Their refs begin with `plugin/<plugin>/`. */
export const ToolsPoint = extensionPoint<ToolSource>('agent-engine.tools', {
  prefix: 'text',
  list: 'function',
});
