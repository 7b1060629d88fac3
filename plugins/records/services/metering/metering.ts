import type { Clock, Ids } from 'agent-gateway';
import type { Metering, ModelUse, PricedUse } from '../../../agent-engine/contract.ts';
import { insertUsage } from '../../store/usage/usage-record.ts';
import { costOf } from './cost.ts';
import { measure, total } from './measure.ts';
import type { PriceBook, Pricing } from './pricing.ts';
import { toRow } from './usage-row.ts';

/** Makes the metering of model calls (specification 1, usage; decisions 1.8). */
export function createMetering(options: {
  readonly pricing: Pick<Pricing, 'prices'>;
  readonly clock: Clock;
  readonly ids: Ids;
}): Metering {
  const { pricing, clock, ids } = options;
  return {
    measure,
    total,
    price(uses) {
      const book = pricing.prices();
      return book instanceof Promise ? book.then((prices) => priced(uses, prices)) : priced(uses, book);
    },
    record(entities, owner, uses) {
      const createdAt = new Date(clock.now());
      return insertUsage(
        entities,
        uses.map((use) => toRow(use, owner, { id: ids.uuid(), createdAt })),
      );
    },
  };
}

function priced(uses: readonly ModelUse[], book: PriceBook): readonly PricedUse[] {
  return uses.map((use) => {
    // What the provider calls the model tells more than the alias, behind which another one may stand tomorrow.
    const prices = book.get(use.providerModel) ?? book.get(use.model);
    return { ...use, costUsd: prices === undefined ? '0' : costOf(use, prices) };
  });
}
