import {
  defineErrors,
  GatewayError,
  type RowWrite,
  serviceRef,
  type TenantEntityManager,
} from 'agent-gateway';
import type { SessionReader, Usage, UsageSource } from '../../records/contract.ts';
import type { AgentEvent, AgentResult, AgentRunRequest, Decision, Interrupt } from './agents.ts';
import type { ChatCall } from './conversations.ts';

/** What a turn came to, with the usage of all its model calls. */
export interface TurnEnd {
  readonly result: AgentResult;
  readonly usage: Usage;
}

/** More writes for the commit of a turn, made when it has ended. */
interface WithTurn {
  readonly also?: (end: TurnEnd, sessionId: string | undefined) => Promise<readonly RowWrite[]>;
}

/** A turn of an agent in a session: what `AgentRunRequest` says, without what the session adds. */
export type AgentTurnRequest = Pick<
  AgentRunRequest,
  'agent' | 'model' | 'messages' | 'parameters' | 'clientTools' | 'toolChoice' | 'pauses'
> &
  WithTurn & {
    /** False stores nothing; the turn cannot pause then. */
    readonly store: boolean;
    /** Which part of the gateway asks. */
    readonly source: UsageSource;
  };

/** Goes on with the paused run of a session. */
export interface AgentTurnResume extends WithTurn {
  /** Name of the agent; undefined for the default agent. */
  readonly agent: string | undefined;
  readonly sessionId: string;
  readonly source: UsageSource;
  /** What was decided, by interrupt id, of the interrupts that are open. May throw. */
  readonly decide: (open: readonly Interrupt[]) => Readonly<Record<string, Decision>>;
}

/** What happens in a turn. Its `end` comes when the turn is durable; `usage` is of all its model calls. */
export type AgentTurnEvent =
  | Exclude<AgentEvent, { readonly type: 'end' }>
  | ({ readonly type: 'end' } & TurnEnd);

/**
 * Milliseconds after which a stream is begun although nothing of the answer is there: a model may think for minutes,
 * and what is between client and gateway ends connections on which nothing comes for half a minute or a minute.
 */
export const STREAM_BEGINS_MS = 15_000;

/**
 * A turn that has begun: its first event is there, or `STREAM_BEGINS_MS` are over. Dispose it in any case; unless its
 * events were read to the `end`, nothing of it stays.
 */
export interface AgentTurn extends AsyncDisposable {
  /** Undefined when nothing is stored. */
  readonly sessionId: string | undefined;
  /** Alias of the model that is asked. */
  readonly model: string;
  /** To be read once. Throws what broke the turn. */
  readonly events: AsyncIterable<AgentTurnEvent>;
}

/**
 * Turns of agents in sessions: the conversation, the run, its checkpoint, and what of them is kept, in one transaction.
 */
export interface AgentTurns {
  /**
   * Throws what `Conversations.open` and `Agents.run` throw, `agent.failed`, and `chat.interrupted` where decisions are
   * awaited (with `pauses: 'allow'`).
   */
  begin(call: ChatCall, request: AgentTurnRequest): Promise<AgentTurn>;
  /**
   * Throws `session.not-found`, `chat.not-interrupted` (409, also for the second of two callers), what `decide` throws,
   * `agent.decision-invalid`, and what `begin` throws. The checkpoint is removed in the transaction that stores the
   * turn.
   */
  resume(call: ChatCall, request: AgentTurnResume): Promise<AgentTurn>;
  /**
   * Ends the turn that is in flight, on any replica, or discards the paused run that waits for decisions. False where
   * there was neither.
   */
  abort(
    entities: TenantEntityManager,
    reader: SessionReader,
    place: { readonly sessionId: string; readonly agent: string | undefined },
  ): Promise<boolean>;
}

/** Turns of agents. */
export const AgentTurnsRef = serviceRef<AgentTurns>('agent-engine.agent-turns');

/** Errors of turns, in addition to those of models, guardrails, sessions and agents. */
export const TurnErrors = defineErrors({
  /** The model, or the engine itself, failed while an agent was at work. Nothing was stored. */
  failed: { code: 'agent.failed', kind: 'upstream', title: 'The agent failed' },
  interrupted: { code: 'chat.interrupted', kind: 'conflict', title: 'The chat waits for decisions' },
  notInterrupted: { code: 'chat.not-interrupted', kind: 'conflict', title: 'The chat waits for no decision' },
});

/** Codes of the model port that mean a wrong request, not a failure. */
const ABOUT_THE_REQUEST: ReadonlySet<string> = new Set(['model_not_found', 'model.aborted']);

/**
 * The error for what a run threw: a failure of models or of the engine is 502 and not to be repeated by client
 * libraries, since tools may have run (specification 1, Chat, rule 1). Errors that the request itself caused stay as
 * they are.
 */
export function agentFailure(thrown: unknown): GatewayError {
  if (!(thrown instanceof GatewayError)) {
    return TurnErrors.failed(undefined, { retryable: false, cause: thrown });
  }
  const isModelFailure = thrown.code.startsWith('model.') && !ABOUT_THE_REQUEST.has(thrown.code);
  if (!isModelFailure && thrown.kind !== 'internal') return thrown;
  return TurnErrors.failed(`The agent failed: ${thrown.detail}`, { retryable: false, cause: thrown });
}
