import { defineErrors, type Page, type RowWrite, serviceRef, type TenantEntityManager } from 'agent-gateway';
import type {
  ChatMessage,
  ModelUse,
  Principal,
  SessionReader,
  ToolCall,
  ToolDefinition,
} from '../../records/contract.ts';
import type { AgentCheck, AgentInfo } from './agent-definitions.ts';
import type { ChatGuarding } from './chat-guards.ts';
import type { ChatRequest, ToolChoice } from './models.ts';
import type { RunContext } from './run-context.ts';
import type { Question } from './tools.ts';

/**
 * Calls of the model that one turn may make, whatever an agent or a caller asks for (specification 2, Agent safety
 * pipeline).
 */
export const MAX_ITERATIONS = 50;

/** Parameters of a model call other than its conversation and tools. They reach the model unchanged. */
export type ModelParameters = Readonly<
  Partial<Omit<ChatRequest, 'model' | 'messages' | 'tools' | 'tool_choice' | 'stream' | 'stream_options'>>
>;

/** A turn of an agent. */
export interface AgentRunRequest {
  /** An agent of agents.d, or of the tenant; absent: the default agent, with every tool that the tenant may use. */
  readonly agent?: string | undefined;
  /** Alias of the model; absent: the agent's own, or `default`. */
  readonly model?: string | undefined;
  /**
   * The conversation so far and what is new, oldest first, without the agent's own instructions. A conversation that
   * ends with `tool` messages answers the calls of client tools that an earlier turn handed out.
   */
  readonly messages: readonly ChatMessage[];
  /** Text that stands before the agent's own instructions: personality, memories, skills. Built once a turn. */
  readonly preamble?: string | undefined;
  /** The part of the preamble that an answer must not give away, as it must not the agent's own instructions. */
  readonly secretPreamble?: string | undefined;
  readonly parameters?: ModelParameters | undefined;
  /**
   * Tools that the caller runs itself: a call of one ends the turn with `tool_calls`. They win over server tools of the
   * same name.
   */
  readonly clientTools?: readonly ToolDefinition[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Model calls at most; clamped to 1 … `MAX_ITERATIONS`. Absent: the agent's own number, or `MAX_ITERATIONS`. */
  readonly maxIterations?: number | undefined;
  /**
   * What a tool that needs an approval, or asks a question, does: `allow` ends the turn as `interrupted` with a
   * checkpoint; `refuse` answers the model that no person can be asked here.
   */
  readonly pauses: 'allow' | 'refuse';
  readonly context: RunContext;
  /**
   * The guards that have looked at the messages already, as `Conversation.guards`; absent: guardrails and guards look
   * at them here.
   */
  readonly guards?: ChatGuarding | undefined;
}

/** What happens in a run, as it happens. All text is redacted. */
export type AgentEvent =
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'reasoning'; readonly delta: string }
  /** A tool of the server is about to run. `arguments` is JSON text. */
  | {
      readonly type: 'tool_call';
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
      readonly agentPath: readonly string[];
    }
  | {
      readonly type: 'tool_result';
      readonly id: string;
      readonly name: string;
      readonly content: string;
      readonly isError: boolean;
      readonly agentPath: readonly string[];
    }
  /** A supervisor hands over to a sub-agent, or gets control back. */
  | { readonly type: 'agent_switch'; readonly from: string; readonly to: string }
  /** The run is over; nothing follows. */
  | { readonly type: 'end'; readonly result: AgentResult };

/** Why a turn ended. `length`: the cap of tokens. `tool_calls`: calls of client tools are handed out. */
export type AgentFinish =
  | 'stop'
  | 'length'
  | 'tool_calls'
  | 'content_filter'
  | 'interrupted'
  | 'iteration_limit';

/** What a turn came to. All of it is redacted. */
export interface AgentResult {
  /** `iteration_limit` is the cap of model calls, or of what a turn may keep; chat routes show it as `length`. */
  readonly finish: AgentFinish;
  /** The text of the last answer. */
  readonly text: string;
  /**
   * What the turn added to the conversation: assistant and tool messages, in order. Always whole steps: with finish
   * `interrupted` the calls that wait, and their answer, come with the result of `resume`.
   */
  readonly messages: readonly ChatMessage[];
  /** The calls of client tools that wait for an answer; with finish `tool_calls`. */
  readonly toolCalls?: readonly ToolCall[];
  /**
   * One entry a model call of this very run or resume, sub-agents included: earlier ones were reported when the run was
   * interrupted.
   */
  readonly uses: readonly ModelUse[];
  /** With finish `interrupted`. */
  readonly checkpoint?: Checkpoint;
  /** The alias of the model that answered last. */
  readonly model: string;
}

/** One thing that a person has to decide. */
export interface Interrupt {
  readonly id: string;
  readonly type: 'approval' | 'question';
  /** Of the agent that asked, from the outermost. */
  readonly agentPath: readonly string[];
  readonly reason: string;
  /** For an approval. `arguments` is JSON text. */
  readonly toolCall?: { readonly id: string; readonly name: string; readonly arguments: string };
  /** For a question; for an approval empty. */
  readonly fields: Question['fields'];
}

/**
 * A paused run, as plain JSON: it can be stored, and resumed by any replica, also of a newer version of the gateway.
 */
export interface Checkpoint {
  readonly id: string;
  /** Name of the agent; the empty text for the default agent. */
  readonly agent: string;
  readonly interrupts: readonly Interrupt[];
  /**
   * Everything that `resume` needs, the agent's definition at the start included. Opaque, and not redacted: it never
   * leaves the gateway.
   */
  readonly state: unknown;
}

/** A person's decision about one interrupt. */
export type Decision =
  | { readonly decision: 'approve' }
  | { readonly decision: 'reject'; readonly message?: string }
  /** `arguments` is a JSON object that replaces the call's own. */
  | { readonly decision: 'edit'; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly answers: Readonly<Record<string, unknown>> };

/** How a paused run goes on. */
export interface AgentResumeRequest {
  readonly checkpoint: Checkpoint;
  /**
   * By interrupt id; every interrupt of the checkpoint needs one. Throws `agent.decision-invalid` for anything else.
   */
  readonly decisions: Readonly<Record<string, Decision>>;
  readonly context: RunContext;
  /** The guards that the conversation began with; absent: they are opened here. */
  readonly guards?: ChatGuarding | undefined;
}

/** Errors of agents, in addition to those of models and guardrails. */
export const AgentErrors = defineErrors({
  notFound: { code: 'agent.not-found', kind: 'not-found', title: 'There is no such agent' },
  /** The definition of a tenant's agent is no longer valid: an agent that it names is gone, for instance. */
  notUsable: { code: 'agent.not-usable', kind: 'conflict', title: 'The agent cannot run' },
  /** 400, with all problems in `errors`; pointers begin with `/decisions`. */
  decisionInvalid: {
    code: 'agent.decision-invalid',
    kind: 'invalid',
    title: 'The decisions do not fit what was asked',
  },
  /** A checkpoint that this version of the gateway cannot read. */
  checkpointInvalid: {
    code: 'agent.checkpoint-invalid',
    kind: 'conflict',
    title: 'The paused run cannot be resumed',
  },
  /** The conversation is too large to be stored while a person is asked. */
  checkpointTooLarge: {
    code: 'agent.checkpoint-too-large',
    kind: 'too-large',
    title: 'The paused run is too large to be kept',
  },
});

/** Runs agents. */
export interface Agents {
  /** The agents of agents.d, by name, and after them the tenant's own. */
  list(tenantId: string): Promise<readonly AgentInfo[]>;
  /** An agent that the tenant may run. One of agents.d comes before the tenant's own of the same name. */
  find(tenantId: string, name: string): Promise<AgentInfo | undefined>;
  /** Validates a definition as one of the tenant's agents, by the rules of the YAML kind. Stores nothing. */
  check(tenantId: string, yaml: string): Promise<AgentCheck>;
  /**
   * Runs a turn. Nothing is sent before the first `next()`; leaving the loop or aborting the signal cancels everything
   * that is under way. The last event is `end`. Throws `agent.not-found`, `agent.not-usable`, errors of `ModelErrors`
   * and `GuardErrors`.
   */
  run(request: AgentRunRequest): AsyncIterable<AgentEvent>;
  /**
   * Throws `agent.decision-invalid` where `resume` would, so that a caller can check before it takes the checkpoint.
   */
  checkDecisions(checkpoint: Checkpoint, decisions: AgentResumeRequest['decisions']): void;
  /**
   * Goes on with a paused run; like `run`, and throws `agent.decision-invalid` and `agent.checkpoint-invalid`. Resuming
   * the same checkpoint again, after a crash, does not repeat the tools that have run.
   */
  resume(request: AgentResumeRequest): AsyncIterable<AgentEvent>;
}

/** The agents of the deployment and of tenants, for plugins that run them. */
export const AgentsRef = serviceRef<Agents>('agent-engine.agents');

/** A checkpoint that is stored until a person decides. */
export interface StoredCheckpoint {
  readonly sessionId: string;
  readonly agent: string;
  readonly checkpoint: Checkpoint;
  readonly createdAt: Date;
}

/** Where a checkpoint is kept: one for each session and agent. */
export interface CheckpointPlace {
  readonly sessionId: string;
  /** Name of the agent; the empty text for the default agent. 128 characters at most. */
  readonly agent: string;
}

/** What waits for decisions, without what the run needs to go on. */
export type OpenInterrupts = CheckpointPlace &
  Pick<Checkpoint, 'id' | 'interrupts'> & { readonly createdAt: Date };

/** Checkpoints of a tenant's sessions. What is written belongs into the commit of the turn: see `TurnOutcome.also`. */
export interface Checkpoints {
  /** Keeps a checkpoint. Throws `agent.checkpoint-too-large` above 1 MiB of JSON. */
  save(given: CheckpointPlace & { readonly principal: Principal; readonly checkpoint: Checkpoint }): RowWrite;
  /** Removes a checkpoint that was found; if no row matches, the checkpoint is gone or was replaced. */
  take(place: CheckpointPlace & { readonly checkpointId: string }): RowWrite;
  find(entities: TenantEntityManager, place: CheckpointPlace): Promise<StoredCheckpoint | undefined>;
  /** What waits in the sessions that the reader may see, newest first. */
  list(
    entities: TenantEntityManager,
    reader: SessionReader,
    page: Page,
  ): Promise<{ readonly open: readonly OpenInterrupts[]; readonly total: number }>;
}

/** The checkpoints of paused runs. */
export const CheckpointsRef = serviceRef<Checkpoints>('agent-engine.checkpoints');
