import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { MAX_RECEIPT_TEXT, type NewReceipt, storedName } from '../../../../plugins/records/contract.ts';
import { createReceipts } from '../../../../plugins/records/services/receipts.ts';
import {
  receipts as migration,
  receiptIndexes,
  receiptSpans,
} from '../../../../plugins/records/store/migrations.ts';
import { ExecutionReceipt } from '../../../../plugins/records/store/receipts.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { engineTables } from '../../agent-engine/engine-tables.ts';

const A = '01900000-0000-7000-8000-00000000000a';
const B = '01900000-0000-7000-8000-00000000000b';
const PAGE = { limit: 50, offset: 0 };

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const tables = { entities: [ExecutionReceipt], migrations: [migration, receiptSpans, receiptIndexes] };
  const engine = await engineTables(t, fresh, tables);
  return {
    ...engine,
    receipts: createReceipts(engine),
    of: (tenant: string) => engine.database.forTenant(tenant),
  };
}

function receipt(changes: Partial<NewReceipt> = {}): NewReceipt {
  return {
    sessionId: 's1',
    userId: 'u1',
    toolName: 'calculator',
    input: '{"expression":"1+1"}',
    output: '2',
    status: 'success',
    startedAt: new Date(5),
    durationMs: 12,
    requestId: 'r1',
    idempotencyId: null,
    traceId: null,
    ...changes,
  };
}

eachDatabase(test, 'the tables of receipts are those of their entity', async (t, fresh) => {
  const { database } = await open(t, fresh);
  t.is(await database.schemaDrift(), '');
});

eachDatabase(test, 'a page is read while it is taken', async (t, fresh) => {
  const { receipts, of } = await open(t, fresh);
  for (let made = 0; made < 30; made += 1) await receipts.submit(of(A), receipt());
  const { receipts: found, total } = await receipts.list(of(A), {}, PAGE);
  t.is(total, 30);
  let taken = 0;
  for await (const _ of found) {
    taken += 1;
    if (taken === 1) await of(A).delete(ExecutionReceipt, {});
  }
  t.true(taken < 30);
});

eachDatabase(test, 'what was submitted is what is read, and the first of a retry stays', async (t, fresh) => {
  const { receipts, of, clock } = await open(t, fresh);
  const first = await receipts.submit(of(A), receipt({ idempotencyId: 'step-1', traceId: 'abc' }));
  t.like(first, { tenantId: A, createdAt: new Date(clock.now()), idempotencyId: 'step-1', traceId: 'abc' });
  t.deepEqual(await receipts.get(of(A), first.id), first);
  clock.advance(1000);
  const retry = receipt({ idempotencyId: 'step-1', input: 'other', output: 'other', status: 'error' });
  t.deepEqual(await receipts.submit(of(A), retry), first, 'whatever the retry carries');
  t.deepEqual(await receipts.findByIdempotencyId(of(A), 'step-1'), first);
  t.is(await receipts.findByIdempotencyId(of(A), 'step-2'), undefined);
  t.is((await receipts.list(of(A), {}, PAGE)).total, 1);
});

eachDatabase(test, 'twenty retries at one time make one receipt', async (t, fresh) => {
  const { receipts, of } = await open(t, fresh);
  const submitted = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      receipts.submit(of(A), receipt({ idempotencyId: 'once', output: `${index}` })),
    ),
  );
  t.is(new Set(submitted.map(({ id }) => id)).size, 1);
  t.is(new Set(submitted.map(({ output }) => output)).size, 1);
  t.is((await receipts.list(of(A), {}, PAGE)).total, 1);
});

eachDatabase(test, 'tenants have idempotency ids and receipts of their own', async (t, fresh) => {
  const { receipts, of } = await open(t, fresh);
  const ours = await receipts.submit(of(A), receipt({ idempotencyId: 'same' }));
  const theirs = await receipts.submit(of(B), receipt({ idempotencyId: 'same' }));
  t.not(ours.id, theirs.id);
  t.is(theirs.tenantId, B);
  t.is((await receipts.findByIdempotencyId(of(B), 'same'))?.id, theirs.id);
  t.deepEqual(await Readable.from((await receipts.list(of(A), {}, PAGE)).receipts).toArray(), [ours]);
  await t.throwsAsync(receipts.get(of(A), theirs.id), { code: 'receipt.not-found' });
  for (const id of ['', 'x', '\0', `${A}\0`]) {
    await t.throwsAsync(receipts.get(of(A), id), { code: 'receipt.not-found' });
  }
});

eachDatabase(test, 'without an idempotency id each submission is a receipt', async (t, fresh) => {
  const { receipts, of } = await open(t, fresh);
  const made = await Promise.all([1, 2, 3].map(() => receipts.submit(of(A), receipt())));
  t.is(new Set(made.map(({ id }) => id)).size, 3);
  t.is((await receipts.list(of(A), {}, PAGE)).total, 3);
});

eachDatabase(test, 'receipts are found by what matches exactly, newest first, in pages', async (t, fresh) => {
  const { receipts, of, clock } = await open(t, fresh);
  const submit = async (changes: Partial<NewReceipt>) => {
    clock.advance(1);
    return (await receipts.submit(of(A), receipt(changes))).id;
  };
  const one = await submit({});
  const two = await submit({ status: 'timeout', toolName: 'http_fetch' });
  const three = await submit({ sessionId: 's2', status: 'error' });
  const four = await submit({ toolName: 'Calculator' });
  const found = async (filter: object, page = PAGE) => {
    const { receipts: found, total } = await receipts.list(of(A), filter, page);
    const records = await Readable.from(found).toArray();
    return [records.map(({ id }) => id), total];
  };
  t.deepEqual(await found({}), [[four, three, two, one], 4]);
  t.deepEqual(await found({}, { limit: 2, offset: 1 }), [[three, two], 4]);
  t.deepEqual(await found({}, { limit: 0, offset: 0 }), [[], 4]);
  t.deepEqual(await found({ sessionId: 's1' }), [[four, two, one], 3]);
  t.deepEqual(await found({ toolName: 'calculator' }), [[three, one], 2]);
  t.deepEqual(await found({ toolName: 'calc' }), [[], 0]);
  t.deepEqual(await found({ status: 'timeout', toolName: 'http_fetch', sessionId: 's1' }), [[two], 1]);
  t.deepEqual(await found({ status: 'timeout', sessionId: 's2' }), [[], 0]);
});

eachDatabase(test, 'whatever a model wrote is kept, up to its bound', async (t, fresh) => {
  const { receipts, of } = await open(t, fresh);
  const wild = 'NUL \0, half \ud83d, \u2028 "quoted" \\ emoji 🧮';
  const kept = await receipts.submit(
    of(A),
    receipt({ input: wild, output: wild, idempotencyId: `${wild}${'x'.repeat(5000)}` }),
  );
  t.deepEqual(await receipts.get(of(A), kept.id), kept);
  t.is(kept.input, wild);
  t.is(kept.output, wild);
  t.is((await receipts.submit(of(A), receipt({ idempotencyId: kept.idempotencyId }))).id, kept.id);
  const other = await receipts.submit(of(A), receipt({ idempotencyId: `${kept.idempotencyId}y` }));
  t.not(other.id, kept.id);

  const names = { toolName: `made\0up${'y'.repeat(500)}`, userId: 'u\0', sessionId: 'z'.repeat(500) };
  const cut = await receipts.submit(of(A), receipt({ ...names, traceId: 't'.repeat(500), durationMs: 1.6 }));
  t.deepEqual(await receipts.get(of(A), cut.id), cut);
  t.like(cut, { toolName: `made\ufffdup${'y'.repeat(121)}`, userId: storedName('u\0'), durationMs: 2 });
  t.is((await receipts.list(of(A), { toolName: names.toolName }, PAGE)).total, 1);

  const half = `${'a'.repeat(MAX_RECEIPT_TEXT - 2)}🧮 and more`;
  const long = await receipts.submit(of(A), receipt({ output: half, input: 'b'.repeat(MAX_RECEIPT_TEXT) }));
  const stored = await receipts.get(of(A), long.id);
  t.is(stored.output, `${'a'.repeat(MAX_RECEIPT_TEXT - 2)}…`);
  t.is(stored.input, 'b'.repeat(MAX_RECEIPT_TEXT));
});
