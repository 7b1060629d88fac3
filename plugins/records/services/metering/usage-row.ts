import { storableText } from 'agent-gateway';
import {
  type CallSpan,
  isUsageSource,
  type PricedUse,
  storedName,
  type UsageOwner,
  type UsageRecord,
} from '../../contract.ts';
import { USAGE_LENGTHS, type UsageRow } from '../../store/usage.ts';
import { dollarsOfParts, partsOf } from './cost.ts';
import { dayOf } from './usage-period.ts';

/**
 * The row of a use. Names that clients and providers chose become text that every database can store; users are named
 * as in sessions.
 */
export function toRow(
  use: PricedUse,
  { principal, sessionId, source }: UsageOwner,
  { id, createdAt }: Pick<UsageRow, 'id' | 'createdAt'>,
): Omit<UsageRow, 'tenantId'> {
  if (!isUsageSource(source)) throw new TypeError(`"${source}" is no source of usage`);
  const { micros, picos } = partsOf(use.costUsd);
  return {
    id,
    sessionId: sessionId === undefined ? null : storableText(sessionId, USAGE_LENGTHS.sessionId),
    userId: storedName(principal.userId),
    identityId: storedName(principal.identityId),
    source,
    model: storableText(use.model, USAGE_LENGTHS.model),
    provider: storableText(use.provider, USAGE_LENGTHS.provider),
    providerModel: storableText(use.providerModel, USAGE_LENGTHS.providerModel),
    inputTokens: use.inputTokens,
    outputTokens: use.outputTokens,
    cacheReadTokens: use.cacheReadTokens,
    cacheWriteTokens: use.cacheWriteTokens,
    estimated: use.isEstimated ? 1 : 0,
    costMicros: micros,
    costPicos: picos,
    day: dayOf(createdAt),
    createdAt,
    ...spanRow(use.span),
  };
}

/** Largest value of a column of 32 bits. */
const MAX_INTEGER = 2 ** 31 - 1;

function spanRow(span: CallSpan | undefined) {
  if (span === undefined)
    return { requestId: null, traceId: null, startedAt: null, durationMs: null, status: null };
  const { requestId, traceId, startedAt, durationMs, status } = span;
  return {
    startedAt,
    status,
    durationMs: Math.min(durationMs, MAX_INTEGER),
    requestId: storableText(requestId, USAGE_LENGTHS.requestId),
    traceId: traceId === null ? null : storableText(traceId, USAGE_LENGTHS.traceId),
  };
}

/** The record of a row. */
export function toRecord({
  tenantId,
  day,
  estimated,
  costMicros: micros,
  costPicos: picos,
  ...row
}: UsageRow): UsageRecord {
  return {
    ...row,
    isEstimated: estimated === 1,
    costUsd: dollarsOfParts({ micros, picos }),
    status: row.status as UsageRecord['status'],
  };
}
