import test from 'ava';
import { type Prices, PricingChanged } from '../../../../../plugins/records/contract.ts';
import { MAX_PRICING_RULES } from '../../../../../plugins/records/services/metering/pricing.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { modelUse, usageTables } from './usage-tables.ts';

const PRICES: Prices = {
  inputPer1k: 0.15,
  outputPer1k: 0.6,
  cacheReadPer1k: null,
  cacheWritePer1k: 1e-7,
};
const ALL = { limit: 500, offset: 0 };

eachDatabase(test, 'a rule keeps its prices exactly, is replaced whole, and is removed', async (t, fresh) => {
  const { pricing, clock, database, told } = await usageTables(t, fresh);
  t.is(await database.schemaDrift(), '');
  const made = await pricing.replace('openai/gpt-4o', PRICES);
  t.deepEqual(made, { model: 'openai/gpt-4o', ...PRICES, updatedAt: new Date(clock.now()) });
  t.deepEqual(await pricing.list(ALL), { rules: [made], total: 1 });
  clock.advance(10);
  const other = await pricing.replace('OpenAI/gpt-4o', { ...PRICES, inputPer1k: 999_999.999999999 });
  clock.advance(10);
  const free = { inputPer1k: 0, outputPer1k: 0, cacheReadPer1k: 0, cacheWritePer1k: null };
  const changed = await pricing.replace('openai/gpt-4o', free);
  t.deepEqual(await pricing.list(ALL), { rules: [changed, other], total: 2 });
  t.deepEqual(await pricing.list({ limit: 1, offset: 1 }), { rules: [other], total: 2 });
  await pricing.remove('openai/gpt-4o');
  await t.throwsAsync(pricing.remove('openai/gpt-4o'), { code: 'pricing.not-found' });
  t.deepEqual((await pricing.list(ALL)).rules, [other]);
  t.true(told.length >= 4 && told.every((id) => id === PricingChanged.id));
});

eachDatabase(test, "the provider's name of a model comes before the alias", async (t, fresh) => {
  const { pricing, metering } = await usageTables(t, fresh);
  const cost = async () => (await metering.price([modelUse()])).map(({ costUsd }) => costUsd);
  t.deepEqual(await cost(), ['0']);
  await pricing.replace('fast', { ...PRICES, inputPer1k: 1 });
  t.deepEqual(await cost(), ['1.06']);
  await pricing.replace('gpt-x', { ...PRICES, inputPer1k: 2 });
  t.deepEqual(await cost(), ['2.06']);
  await pricing.remove('gpt-x');
  t.deepEqual(await cost(), ['1.06']);
});

eachDatabase(test, 'prices are at hand, and never more than a second old', async (t, fresh) => {
  const { pricing, openPricing, clock } = await usageTables(t, fresh);
  const [second, third] = [openPricing(), openPricing()];
  for (const each of [pricing, second, third]) t.is((await each.prices()).size, 0);
  t.false(pricing.prices() instanceof Promise, 'without a query');
  await pricing.replace('m', PRICES);
  t.is((await pricing.prices()).size, 1);
  t.is((await second.prices()).size, 0);
  second.forget();
  t.is((await second.prices()).size, 1);
  clock.advance(999);
  t.is((await third.prices()).size, 0);
  clock.advance(1);
  t.is((await third.prices()).size, 1);
});

eachDatabase(test, 'one rule that many write at one time is one rule', async (t, fresh) => {
  const { pricing } = await usageTables(t, fresh);
  const written = Array.from({ length: 10 }, (_, index) => ({ ...PRICES, inputPer1k: index }));
  await Promise.all(written.map((prices) => pricing.replace('m', prices)));
  const { rules, total } = await pricing.list(ALL);
  t.is(total, 1);
  t.true(written.some(({ inputPer1k }) => inputPer1k === rules[0]?.inputPer1k));
});

eachDatabase(test, 'there is a most to the number of rules, not to their changes', async (t, fresh) => {
  const { pricing, database } = await usageTables(t, fresh);
  const { PricingRuleRow } = await import('../../../../../plugins/records/store/pricing-rules.ts');
  const rows = Array.from({ length: MAX_PRICING_RULES }, (_, index) => ({
    model: `m${index}`,
    inputNanos: index,
    outputNanos: 0,
    cacheReadNanos: null,
    cacheWriteNanos: null,
    updatedAt: new Date(0),
  }));
  await database.system().insertMany(PricingRuleRow, rows);
  await t.throwsAsync(pricing.replace('one more', PRICES), { code: 'pricing.limit' });
  t.is((await pricing.replace('m0', PRICES)).inputPer1k, PRICES.inputPer1k);
  t.is((await pricing.prices()).size, MAX_PRICING_RULES);
});
