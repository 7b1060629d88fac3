import {
  type PricedUse,
  storedName,
  type UsageOwner,
  type UsageRecord,
  type UsageSource,
} from '../../contract.ts';
import { storableText } from '../../store/storable-text.ts';
import { USAGE_LENGTHS, type UsageRow } from '../../store/usage.ts';
import { dollarsOfParts, partsOf } from './cost.ts';

/** The row of a use. Names that clients and providers chose become text that every database keeps; users are named as in sessions. */
export function toRow(
  use: PricedUse,
  { principal, sessionId, source }: UsageOwner,
  { id, createdAt }: Pick<UsageRow, 'id' | 'createdAt'>,
): Omit<UsageRow, 'tenantId'> {
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
  };
}

/** The record of a row. */
export function toRecord(row: UsageRow): UsageRecord {
  return {
    id: row.id,
    sessionId: row.sessionId,
    userId: row.userId,
    identityId: row.identityId,
    source: row.source as UsageSource,
    model: row.model,
    provider: row.provider,
    providerModel: row.providerModel,
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    cacheReadTokens: row.cacheReadTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    isEstimated: row.estimated === 1,
    costUsd: dollarsOfParts({ micros: row.costMicros, picos: row.costPicos }),
    createdAt: row.createdAt,
  };
}

/** The day of a moment in UTC, `YYYY-MM-DD`. */
export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
