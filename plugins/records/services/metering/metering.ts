import { type Clock, type Ids, type RowWrite, type Scope, writes } from 'agent-gateway';
import {
  estimateUse,
  type MeasuredCall,
  type Metering,
  type ModelUse,
  type PricedUse,
  PricingChanged,
  type PricingRules,
  toModelUse,
  type Usage,
  type UsageOwner,
} from '../../contract.ts';
import { UsageRecordRow } from '../../store/usage.ts';
import { costOf } from './cost.ts';
import { createPricing, type PriceBook, type Pricing } from './pricing.ts';
import { toRow } from './usage-row.ts';

/** Opens metering and its prices, which are read again when another replica has changed one. */
export function openMetering(scope: Pick<Scope, 'services' | 'on' | 'defer'>): {
  readonly metering: Metering;
  readonly pricing: PricingRules;
} {
  const { clock, ids, database, events } = scope.services;
  const pricing = createPricing({ database, clock, events });
  scope.on(PricingChanged, () => pricing.forget());
  scope.defer(events.onMissed(() => pricing.forget()));
  // The day of a call, and where a report ends, are the same on all replicas.
  return { metering: createMetering({ pricing, clock: database.clock, ids }), pricing };
}

/** Makes the metering of model calls (specification 1, usage; decisions 1.8). */
export function createMetering(options: {
  readonly pricing: Pick<Pricing, 'prices'>;
  readonly clock: Clock;
  readonly ids: Ids;
}): Metering {
  const { pricing, clock, ids } = options;

  function write(owner: UsageOwner, uses: readonly PricedUse[]): RowWrite {
    const createdAt = new Date(clock.now());
    const rows = uses.map((use) => toRow(use, owner, { id: ids.uuid(), createdAt }));
    return writes.insert(UsageRecordRow, rows);
  }

  return {
    measure,
    total,
    price(uses) {
      const book = pricing.prices();
      return book instanceof Promise ? book.then((prices) => priced(uses, prices)) : priced(uses, book);
    },
    write,
    async record(entities, owner, uses, also = []) {
      await entities.writeTogether([write(owner, uses), ...also]);
    },
  };
}

function priced(uses: readonly ModelUse[], book: PriceBook): readonly PricedUse[] {
  return uses.map((use) => {
    // The provider's name is more exact than the alias, behind which another model may stand tomorrow.
    const prices = book.get(use.providerModel) ?? book.get(use.model);
    return { ...use, costUsd: prices === undefined ? '0' : costOf(use, prices) };
  });
}

/** Usage as the client sees it; marked where a part of it is an estimate. */
type ReportedUsage = Usage & { readonly estimated?: true };

/** What one call consumed, and what its client sees: what the provider counted, untouched, or the estimate. Pure. */
export function measure(call: MeasuredCall): { readonly use: ModelUse; readonly usage: ReportedUsage } {
  const { alias, answeredBy, request, answer, span } = call;
  const counted = toModelUse(alias, answeredBy, call.usage, () => estimateUse(request, answer));
  const use = span === undefined ? counted : { ...counted, span };
  return { use, usage: use.isEstimated || !call.usage ? total([use]) : call.usage };
}

/** Several uses as one usage. With details where there are any. Pure. */
export function total(uses: readonly ModelUse[]): ReportedUsage {
  const sum = (of: (use: ModelUse) => number) => uses.reduce((tokens, use) => tokens + of(use), 0);
  const promptTokens = sum((use) => use.inputTokens);
  const completionTokens = sum((use) => use.outputTokens);
  const cacheRead = sum((use) => use.cacheReadTokens);
  const cacheWrite = sum((use) => use.cacheWriteTokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cacheRead + cacheWrite > 0 && {
      prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    }),
    ...(uses.some((use) => use.isEstimated) && { estimated: true }),
  };
}
