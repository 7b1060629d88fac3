import test from 'ava';
import fc from 'fast-check';
import { addDollars, dollarsOf, type MeasuredCall } from '../../../../../plugins/records/contract.ts';
import {
  costOf,
  dollarsOfParts,
  type NanoPrices,
  nanosOf,
  partsOf,
  priceOf,
} from '../../../../../plugins/records/services/metering/cost.ts';
import { measure, total } from '../../../../../plugins/records/services/metering/metering.ts';
import { modelUse } from './usage-tables.ts';

const CALL: MeasuredCall = {
  alias: 'fast',
  answeredBy: { provider: 'openai', model: 'gpt-x' },
  request: { messages: [{ role: 'user', content: 'four letters a token' }] },
  answer: { role: 'assistant', content: 'yes, about that' },
};

test('what the provider counted is measured and told as it is', (t) => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 5 },
  };
  const measured = measure({ ...CALL, usage });
  t.is(measured.usage, usage);
  t.deepEqual(
    measured.use,
    modelUse({ inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, cacheWriteTokens: 10 }),
  );
});

test('what the provider did not count is estimated, and marked', (t) => {
  const empty = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  for (const usage of [undefined, empty]) {
    const { use, usage: told } = measure({ ...CALL, usage });
    t.true(use.isEstimated && use.inputTokens > 0 && use.outputTokens > 0);
    t.deepEqual(told, {
      prompt_tokens: use.inputTokens,
      completion_tokens: use.outputTokens,
      total_tokens: use.inputTokens + use.outputTokens,
      estimated: true,
    });
  }
});

test('tools are a part of what was asked', (t) => {
  const tools = [{ type: 'function', function: { name: 'look', description: 'Looks around' } }] as const;
  const { use } = measure({ ...CALL, request: { ...CALL.request, tools } });
  t.true(use.inputTokens > measure(CALL).use.inputTokens);
});

test('several calls are one usage, an estimate where one of them is', (t) => {
  t.deepEqual(total([]), { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  t.deepEqual(total([modelUse(), modelUse({ cacheReadTokens: 7 })]), {
    prompt_tokens: 2000,
    completion_tokens: 200,
    total_tokens: 2200,
    prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 0 },
  });
  t.like(total([modelUse(), modelUse({ isEstimated: true })]), { total_tokens: 2200, estimated: true });
});

const PRICES: NanoPrices = {
  inputNanos: nanosOf(0.15),
  outputNanos: nanosOf(0.6),
  cacheReadNanos: nanosOf(0.075),
  cacheWriteNanos: nanosOf(0.1875),
};
const NO_CACHE_PRICES: NanoPrices = { ...PRICES, cacheReadNanos: null, cacheWriteNanos: null };

function tokens(input: number, output = 0, read = 0, write = 0) {
  return { inputTokens: input, outputTokens: output, cacheReadTokens: read, cacheWriteTokens: write };
}

test('a call costs its tokens at their prices, the cached ones apart', (t) => {
  const cases: readonly [ReturnType<typeof tokens>, NanoPrices, string][] = [
    [tokens(0), PRICES, '0'],
    [tokens(1000), PRICES, '0.15'],
    [tokens(0, 1000), PRICES, '0.6'],
    [tokens(1000, 1000), PRICES, '0.75'],
    [tokens(1000, 0, 1000), PRICES, '0.075'],
    [tokens(1000, 0, 0, 1000), PRICES, '0.1875'],
    [tokens(1000, 0, 400, 100), PRICES, '0.12375'],
    [tokens(1000, 0, 400, 100), NO_CACHE_PRICES, '0.15'],
    [tokens(1000, 0, 400, 100), { ...PRICES, cacheReadNanos: 0 }, '0.09375'],
    [tokens(1), PRICES, '0.00015'],
    // More cached than there was: the rest is not negative.
    [tokens(100, 0, 400, 100), PRICES, '0.04875'],
    [tokens(1), { ...PRICES, inputNanos: nanosOf(1e-9) }, '0.000000000001'],
    [tokens(3), { ...PRICES, inputNanos: nanosOf(1e-7) }, '0.0000000003'],
    [tokens(2 ** 31 - 1), { ...PRICES, inputNanos: nanosOf(1_000_000) }, '2147483647000'],
  ];
  for (const [use, prices, cost] of cases) t.is(costOf(use, prices), cost, JSON.stringify([use, prices]));
});

const count = fc.integer({ min: 0, max: 1_000_000 });
const nanos = fc.integer({ min: 0, max: 1e15 });
const use = fc.tuple(count, count, count, count).map(([rest, output, read, write]) => ({
  inputTokens: rest + read + write,
  outputTokens: output,
  cacheReadTokens: read,
  cacheWriteTokens: write,
}));
const prices = fc.record({
  inputNanos: nanos,
  outputNanos: nanos,
  cacheReadNanos: fc.option(nanos),
  cacheWriteNanos: fc.option(nanos),
});
const picosOf = (dollars: string) => {
  const { whole, fraction = '' } = /^(?<whole>\d+)(?:\.(?<fraction>\d{1,12}))?$/.exec(dollars)!.groups!;
  return BigInt(whole + fraction.padEnd(12, '0'));
};

test('the cost is linear in the tokens, to the last digit', (t) => {
  fc.assert(
    fc.property(use, use, prices, fc.integer({ min: 0, max: 1000 }), (a, b, price, factor) => {
      const names = Object.keys(a) as (keyof typeof a)[];
      const both = Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as typeof a;
      const scaled = Object.fromEntries(names.map((name) => [name, a[name] * factor])) as typeof a;
      const one = picosOf(costOf(a, price));
      t.is(picosOf(costOf(both, price)), one + picosOf(costOf(b, price)));
      t.is(picosOf(costOf(scaled, price)), one * BigInt(factor));
    }),
  );
});

test('costs are added as the decimals that they are', (t) => {
  t.is(addDollars([]), '0');
  t.is(addDollars(['0.1', '0.2']), '0.3', 'not 0.30000000000000004');
  t.is(addDollars(['999999999.999999999999', '0.000000000001']), '1000000000');
  const pico = fc.bigInt({ min: 0n, max: 10n ** 24n });
  fc.assert(
    fc.property(fc.array(pico), (picos) => {
      const sum = picos.reduce((all, one) => all + one, 0n);
      t.is(addDollars(picos.map(dollarsOf)), dollarsOf(sum));
    }),
  );
});

test('a price of nine decimals is kept as it was written', (t) => {
  fc.assert(
    fc.property(nanos, (value) => {
      const text = `${Math.floor(value / 1e9)}.${String(value % 1e9).padStart(9, '0')}`;
      t.is(nanosOf(Number(text)), value, text);
      t.is(priceOf(value), Number(text), text);
    }),
  );
  for (const [given, kept] of [
    [1e-7, 1e-7],
    [0.1, 0.1],
    [0.1 + 0.2, 0.3],
    [1.1 / 1000, 0.0011],
    [1_000_000, 1_000_000],
    [999_999.999999999, 999_999.999999999],
  ] as const)
    t.is(priceOf(nanosOf(given)), kept);
});

test('a cost is split into two integers and put together again', (t) => {
  const pico = fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000_000n });
  fc.assert(
    fc.property(pico, (picos) => {
      const dollars = dollarsOf(picos);
      const parts = partsOf(dollars);
      t.true(Number.isSafeInteger(parts.micros) && parts.picos < 1_000_000);
      t.is(dollarsOfParts(parts), dollars);
      t.is(picosOf(dollars), picos);
    }),
  );
  t.is(dollarsOfParts({ micros: 1, picos: 2_500_000 }), '0.0000035', 'sums of leftovers carry over');
  for (const [picos, text] of [
    [0n, '0'],
    [12_000_000_000_000n, '12'],
    [100_000_000_000n, '0.1'],
    [10_000_000_000_000n, '10'],
  ] as const)
    t.is(dollarsOf(picos), text);
});
