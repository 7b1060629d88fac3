import test from 'ava';
import fc from 'fast-check';
import type { ModelUse, UsageTotals } from '../../../../../plugins/records/contract.ts';
import { addUpDay, saveThroughDay } from '../../../../../plugins/records/store/usage-days.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { A, B, modelUse, usageTables } from './usage-tables.ts';

const ALWAYS = { from: new Date(0), to: new Date(Date.UTC(2100, 0, 1)) };
const PAGE = { limit: 500, offset: 0 };

/** A price of up to nine decimals as its text, and as billionths. */
const price = fc
  .oneof(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: 1e12 }))
  .map((nanos) => ({ nanos: BigInt(nanos), perThousand: Number(`${nanos}e-9`) }));
const tokens = fc.oneof(fc.integer({ min: 0, max: 2_000_000 }), fc.constantFrom(1, 999, 1000));
const prices = fc.record({
  input: price,
  output: price,
  cacheRead: fc.option(price, { nil: undefined }),
  cacheWrite: fc.option(price, { nil: undefined }),
});
const call = fc.record({
  uncached: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  tenant: fc.constantFrom(A, B),
  model: fc.nat(2),
});

type Call = typeof call extends fc.Arbitrary<infer C> ? C : never;
type Prices = typeof prices extends fc.Arbitrary<infer P> ? P : never;

/**
 * What a call costs in trillionths of a dollar: tokens at billionths for a thousand of them. Said a second time, apart
 * from the code under test.
 */
function picos({ uncached, output, cacheRead, cacheWrite }: Call, price: Prices): bigint {
  const input = price.input.nanos;
  return (
    BigInt(uncached) * input +
    BigInt(output) * price.output.nanos +
    BigInt(cacheRead) * (price.cacheRead?.nanos ?? input) +
    BigInt(cacheWrite) * (price.cacheWrite?.nanos ?? input)
  );
}

const toPicos = (dollars: string) => {
  const { whole, fraction = '' } = /^(?<whole>\d+)(?:\.(?<fraction>\d{1,12}))?$/.exec(dollars)!.groups!;
  return BigInt(whole! + fraction.padEnd(12, '0'));
};

const toUse = ({ uncached, output, cacheRead, cacheWrite, model }: Call): ModelUse =>
  modelUse({
    providerModel: `model-${model}`,
    outputTokens: output,
    inputTokens: uncached + cacheRead + cacheWrite,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
  });

eachDatabase(test, 'every cost and every sum is what whole numbers give', async (t, fresh) => {
  const { spend, reports, pricing, database, clock } = await usageTables(t, fresh);
  const days = new Set<string>();
  let before = { [A]: 0n, [B]: 0n, tokens: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(prices, { minLength: 3, maxLength: 3 }),
      fc.array(call, { minLength: 1, maxLength: 30 }),
      async (rules, calls) => {
        for (const [model, { input, output, cacheRead, cacheWrite }] of rules.entries()) {
          await pricing.replace(`model-${model}`, {
            inputPer1k: input.perThousand,
            outputPer1k: output.perThousand,
            cacheReadPer1k: cacheRead?.perThousand ?? null,
            cacheWritePer1k: cacheWrite?.perThousand ?? null,
          });
        }
        clock.advance(17 * 3_600_000);
        const session = `s${clock.now()}`;
        const expected = { ...before };
        for (const tenant of [A, B] as const) {
          const own = calls.filter((one) => one.tenant === tenant);
          await spend(tenant, own.map(toUse), { sessionId: session });
          const costs = own.map((one) => picos(one, rules[one.model]!));
          const { records } = await reports.calls(
            database.forTenant(tenant),
            { sessionId: session },
            {},
            PAGE,
          );
          const sorted = (values: readonly bigint[]) => values.toSorted((a, b) => Number(a - b)).map(String);
          t.deepEqual(sorted(records.map(({ costUsd }) => toPicos(costUsd))), sorted(costs));
          expected[tenant] = costs.reduce((sum, cost) => sum + cost, before[tenant]);
        }
        expected.tokens += calls.reduce((sum, one) => sum + one.output, 0);
        before = expected;

        const check = async (how: string) => {
          const total = (rows: readonly UsageTotals[]) =>
            rows.reduce((sum, { costUsd }) => sum + toPicos(costUsd), 0n);
          for (const granularity of ['day', 'month'] as const) {
            const own = await reports.ofTenant(database.forTenant(A), ALWAYS, granularity);
            t.is(total(own), expected[A], `${granularity}, ${how}`);
            const all = await reports.ofAll(ALWAYS, granularity);
            t.is(total(all), expected[A] + expected[B], `all tenants by ${granularity}, ${how}`);
            t.is(
              all.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
              expected.tokens,
            );
          }
          const [ofA, ofB] = await reports.byTenant([A, B], ALWAYS);
          t.deepEqual([toPicos(ofA!.costUsd), toPicos(ofB!.costUsd)], [expected[A], expected[B]], how);
        };
        await check('from records');
        days.add(new Date(clock.now()).toISOString().slice(0, 10));
        await database.transaction(async (em) => {
          for (const day of days) await addUpDay(em, day);
          await saveThroughDay(em, '2026-12-31');
        });
        await check('from days');
        await database.transaction((em) => saveThroughDay(em, '2000-01-01'));
      },
    ),
    { numRuns: 8 },
  );
});
