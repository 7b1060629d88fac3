import { isJsonObject, redactJsonTextWith } from 'agent-gateway';
import {
  AgentErrors,
  type AgentEvent,
  type AgentRunRequest,
  type ChatGuarding,
  type ChatMessage,
  type Checkpoint,
  type Interrupt,
  type ModelUse,
  type ParameterSchema,
  type Question,
  type RunContext,
  type ToolCall,
} from '../../contract.ts';
import type { AgentDefinition } from './agent-resource.ts';
import type { Emit } from './events.ts';

/** What all agents of one turn share. */
export interface Turn {
  /** Its signal is the turn's own: it also ends when the reader of the events leaves. */
  readonly context: RunContext;
  readonly pauses: AgentRunRequest['pauses'];
  /** The guards of plugins that the turn began with. */
  readonly guards: ChatGuarding;
  readonly emit: Emit<AgentEvent>;
  /** Ends everything of the turn that is under way. */
  readonly stop: (reason: unknown) => void;
  readonly uses: ModelUse[];
  /** Calls of the model so far, sub-agents included, and how many there may be. */
  modelCalls: number;
  readonly maxModelCalls: number;
  /** Of the messages that the turn has added so far, sub-agents included, as JSON. */
  characters: number;
}

/*
 * The state of a run, as plain JSON. An agent's run is a frame; a sub-agent's frame stands in the call by which its
 * supervisor handed over, so that a whole turn is one tree. What is here is what a checkpoint keeps: never remove a
 * member, and let new ones be absent in old checkpoints.
 */

/** The result of a call as the model reads it. Redacted, and of bounded length. */
export interface Outcome {
  readonly content: string;
  readonly isError: boolean;
}

/** The state of a call. */
export type CallStatus =
  | { readonly is: 'open' }
  /** A call of a client tool: it is handed out to the caller. */
  | { readonly is: 'client' }
  | { readonly is: 'done'; readonly outcome: Outcome }
  /** Waits for a person. The tool is stored by its ref: names are assigned again in each run. */
  | {
      readonly is: 'approval';
      readonly interruptId: string;
      readonly ref: string;
      /** For edited arguments. */
      readonly parameters: ParameterSchema;
    }
  | { readonly is: 'approved'; readonly ref: string }
  /** A person has refused it: this is its outcome, unless it was made before an interruption. */
  | { readonly is: 'refused'; readonly outcome: Outcome }
  /** The tool asked something. `askedAt`: Unix milliseconds. */
  | {
      readonly is: 'question';
      readonly interruptId: string;
      readonly question: Question;
      readonly askedAt: number;
    }
  | {
      readonly is: 'answered';
      readonly answers: Readonly<Record<string, unknown>>;
      readonly askedAt: number;
    }
  /** Handed over to a sub-agent, which has not finished. */
  | { readonly is: 'nested'; readonly frame: Frame };

/** A call of the model's last answer. */
export interface StepCall {
  readonly call: ToolCall;
  /**
   * Its place in the turn, by order and not by time: `2`, or `2.1` for the first call of the sub-agent that call 2
   * began.
   */
  readonly position: string;
  status: CallStatus;
}

/** An answer with calls, until each of them has its result. */
export interface Step {
  readonly text: string;
  readonly calls: readonly StepCall[];
  /** See `Answer`; absent for nothing. */
  readonly reasoningDetails?: readonly unknown[];
}

/** The run of one agent. */
export interface Frame {
  /** Pinned: the definition that the run started with. */
  readonly agent: AgentDefinition;
  /** Names from the outermost agent to this one; empty for the default agent. */
  readonly path: readonly string[];
  /** What the positions of its calls begin with: empty, or `2.`. */
  readonly prefix: string;
  /** Alias of the model. */
  readonly model: string;
  /** The whole system prompt; empty for none. */
  readonly system: string;
  /** The part of it that answers must not give away. */
  readonly secret: string;
  /** The conversation without the system prompt; whole steps only. */
  readonly messages: ChatMessage[];
  /** How many of `messages` the caller has: what comes after them is new. */
  known: number;
  /** Calls of tools so far. */
  calls: number;
  /** Calls of the model so far, and how many there may be. */
  modelCalls: number;
  readonly maxModelCalls: number;
  /** Of the last answer. */
  text: string;
  step?: Step | undefined;
  /**
   * What the plugins that learn from the run returned when it began: text behind the system prompt, and their memos by
   * plugin name.
   */
  experience?: { readonly advice: string; readonly memos: Readonly<Record<string, unknown>> };
  /** Of the outermost frame alone. */
  readonly request: Pick<AgentRunRequest, 'parameters' | 'clientTools' | 'toolChoice'>;
}

/** The state of a call that waits for a person. */
export type Waiting = Extract<CallStatus, { is: 'approval' | 'question' }>;

/** All calls that wait for a person, sub-agents included, with the frame that each belongs to. */
export function* waitingCalls(
  frame: Frame,
): Generator<{ readonly frame: Frame; readonly call: StepCall; readonly status: Waiting }> {
  for (const call of frame.step?.calls ?? []) {
    const { status } = call;
    if (status.is === 'nested') yield* waitingCalls(status.frame);
    if (status.is === 'approval' || status.is === 'question') yield { frame, call, status };
  }
}

/** What a person has to decide, for a frame that is paused. */
export function interruptsOf(root: Frame, redact: (text: string) => string): readonly Interrupt[] {
  return [...waitingCalls(root)].map(({ frame, call: { call }, status }): Interrupt => {
    const common = { id: status.interruptId, type: status.is, agentPath: frame.path };
    if (status.is === 'approval') {
      const { name, arguments: given } = call.function;
      const toolCall = { id: call.id, name, arguments: redactJsonTextWith(redact, given) };
      return { ...common, reason: `The agent wants to call ${name}.`, toolCall, fields: [] };
    }
    const { reason, fields } = status.question;
    const shown = fields.map((field) => ({
      ...field,
      label: redact(field.label),
      ...(field.options === undefined ? {} : { options: field.options.map(redact) }),
    }));
    return { ...common, reason: redact(reason), fields: shown };
  });
}

/** What a checkpoint's `state` is. */
export interface CheckpointState {
  /** Incremented when older gateways could no longer read the state. */
  readonly version: 1;
  readonly frame: Frame;
  /** Of the whole turn. */
  readonly modelCalls: number;
  readonly maxModelCalls: number;
}

/**
 * The state of a checkpoint. Throws `agent.checkpoint-invalid` for one that was written by a version that this one does
 * not know.
 */
export function asState({ state }: Checkpoint): CheckpointState {
  if (isJsonObject(state) && state.version === 1 && isJsonObject(state.frame))
    return state as unknown as CheckpointState;
  throw AgentErrors.checkpointInvalid('The paused run was kept by another version of the gateway.');
}

/** Characters of one result that reach the model. */
export const MAX_RESULT = 64 * 1024;

/** Words to the model about a call that was not made, or that failed. */
export function notRun(message: string): Outcome {
  return { content: cut(`Error: ${message}`, MAX_RESULT), isError: true };
}

/** The beginning of a text, with a note where something is left out. Never half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const note = `\n[cut: ${text.length} characters in all]`;
  return text.slice(0, Math.max(0, most - note.length)).toWellFormed() + note;
}

/** The parts of a prompt that are there, with an empty line between them. */
export function joinTexts(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== '').join('\n\n');
}
