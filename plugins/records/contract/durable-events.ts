import { type DurableEvents, defineDurableEvent, type RowWrite, Type } from 'agent-gateway';
import { addDollars } from './dollars.ts';
import type { PricedUse, UsageSource } from './metering.ts';

/** Sessions that one event names at most. */
export const SESSIONS_OF_EVENT = 200;

const SessionId = Type.String({ maxLength: 128 });
const NullableText = Type.Union([Type.String(), Type.Null()]);

/**
 * A turn came to its end and is stored, with its usage: of a chat, an agent, the runtime, a plugin, or an agent task of
 * a workflow. `session_id` is null if the conversation is not kept.
 */
export const TurnFinished = defineDurableEvent(
  'records.turn-finished',
  Type.Object({
    session_id: Type.Union([SessionId, Type.Null()]),
    /** The agent that was named; null for a model, or for the default agent. */
    agent: NullableText,
    /** The alias that answered. */
    model: Type.String(),
    /** As in usage records: `chat`, `agent`, `workflow`, `runtime`, or a plugin's name. */
    source: Type.String(),
    /** `interrupted`: it waits for decisions of a person, and goes on as a turn of its own. */
    status: Type.Enum(['completed', 'interrupted']),
    /** Finds its model calls in usage records; null where it made none. */
    request_id: NullableText,
    /** The run that an agent task belongs to. */
    run_id: Type.Optional(Type.String()),
    usage: Type.Object({
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
      cache_read_tokens: Type.Integer(),
      cache_write_tokens: Type.Integer(),
      /** US dollars, an exact decimal as text. */
      cost_usd: Type.String(),
      model_calls: Type.Integer(),
      /** True where the gateway counted tokens of some call, because the provider did not. */
      estimated: Type.Boolean(),
    }),
  }),
);

/** The first turn of a session is stored. `TurnFinished` reports the same turn. */
export const SessionCreated = defineDurableEvent(
  'records.session-created',
  Type.Object({ session_id: SessionId }),
);

/**
 * Sessions were deleted, with their messages: by request, by retention, or with a user's data. An erasure of many
 * sessions publishes several events. The purge of a tenant publishes none: `TenantPurged` covers all of its sessions.
 */
export const SessionsDeleted = defineDurableEvent(
  'records.sessions-deleted',
  Type.Object({
    session_ids: Type.Array(SessionId, { minItems: 1, maxItems: SESSIONS_OF_EVENT }),
    reason: Type.Enum(['requested', 'retention', 'erasure']),
  }),
);

/** Why sessions were deleted. */
export type DeletionReason = 'requested' | 'retention' | 'erasure';

/** How a stored turn ended. */
export type TurnStatus = 'completed' | 'interrupted';

/** A turn as `TurnFinished` reports it. */
interface ReportedTurn {
  readonly sessionId?: string | undefined;
  readonly agent?: string | undefined;
  readonly model: string;
  readonly source: UsageSource;
  readonly status?: TurnStatus | undefined;
  readonly runId?: string;
  readonly uses: readonly PricedUse[];
}

/** The writes that publish `TurnFinished` for a turn; none without a subscriber. */
export function turnFinishedWrites(
  durableEvents: Pick<DurableEvents, 'hasSubscribers' | 'writes'>,
  turn: ReportedTurn,
): readonly RowWrite[] {
  return durableEvents.hasSubscribers(TurnFinished)
    ? durableEvents.writes(TurnFinished, turnFinished(turn))
    : [];
}

/** The payload of `TurnFinished`. Pure. */
export function turnFinished({ sessionId, agent, model, source, status, runId, uses }: ReportedTurn) {
  return {
    session_id: sessionId ?? null,
    agent: agent ?? null,
    model,
    source,
    status: status ?? 'completed',
    request_id: uses.find(({ span }) => span !== undefined)?.span?.requestId ?? null,
    ...(runId !== undefined && { run_id: runId }),
    usage: summedUse(uses),
  };
}

/** Uses added up, under the names of `TurnFinished`. Pure. */
export function summedUse(uses: readonly PricedUse[]) {
  const sum = (of: (use: PricedUse) => number) => uses.reduce((tokens, use) => tokens + of(use), 0);
  return {
    input_tokens: sum((use) => use.inputTokens),
    output_tokens: sum((use) => use.outputTokens),
    cache_read_tokens: sum((use) => use.cacheReadTokens),
    cache_write_tokens: sum((use) => use.cacheWriteTokens),
    cost_usd: addDollars(uses.map(({ costUsd }) => costUsd)),
    model_calls: uses.length,
    estimated: uses.some(({ isEstimated }) => isEstimated),
  };
}
