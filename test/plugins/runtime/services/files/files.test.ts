import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import type { TenantEntityManager } from '../../../../../foundation/data/database.ts';
import { ObjectErrors } from '../../../../../foundation/objects/object-errors.ts';
import { contentKey, createFiles } from '../../../../../plugins/runtime/services/files/files.ts';
import { fakeServices } from '../../../../../testing/index.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';
const PRINCIPAL = { tenantId: TENANT, identityId: 'key', userId: 'ana' };
const { signal } = new AbortController();

/** Files over objects in memory, and one that was received. */
async function received(t: ExecutionContext) {
  const services = fakeServices();
  t.teardown(() => services[Symbol.asyncDispose]());
  const files = createFiles({ ...services, log: {} as never, maxSize: 1000 });
  const content = Readable.from([Buffer.from('hello')], { objectMode: false });
  const file = await files.receive(TENANT, { filename: 'a', content }, signal);
  const isStored = async () =>
    (await services.objects.forTenant(TENANT).head(contentKey(file.id))) !== undefined;
  return { services, files, file, isStored };
}

const entitiesOf = (parts: object) => parts as TenantEntityManager;
const failing = async () => {
  throw new Error('the database is away');
};

test('content whose row could not be written is deleted, unless the row may be there', async (t) => {
  for (const [rows, stays] of [
    [async () => [], false],
    [async () => [{ id: 'it is there' }], true],
    [failing, true],
  ] as const) {
    const { files, file, isStored } = await received(t);
    t.true(await isStored());
    await t.throwsAsync(files.keep(entitiesOf({ insert: failing, rows }), PRINCIPAL, file), {
      message: 'the database is away',
    });
    t.is(await isStored(), stays);
  }
});

test('content that cannot be deleted is left to the clean-up, with a word in the log', async (t) => {
  const { services, file } = await received(t);
  const objects = { ...services.objects, forTenant: () => ({ delete: failing }) } as never;
  const warnings: object[] = [];
  const log = { warn: (fields: object) => warnings.push(fields) } as never;
  const files = createFiles({ ...services, objects, log, maxSize: 1 });
  await t.notThrowsAsync(files.discard(TENANT, file));
  t.like(warnings, { 0: { tenant_id: TENANT, file_id: file.id }, length: 1 });
});

test('content of another size than was stored is not sent, with a word in the log', async (t) => {
  const { services, file } = await received(t);
  const lines: object[] = [];
  const log = { error: (fields: object) => lines.push(fields) } as never;
  const files = createFiles({ ...services, log, maxSize: 1000 });
  const whole = await files.open(TENANT, { id: file.id, size: 5 }, undefined, signal);
  t.is(await text(whole), 'hello');
  const part = await files.open(TENANT, { id: file.id, size: 5 }, { start: 1, end: 2 }, signal);
  t.is(await text(part), 'el');
  await services.objects.forTenant(TENANT).put(contentKey(file.id), 'hel');
  await t.throwsAsync(files.open(TENANT, { id: file.id, size: 5 }, undefined, signal), {
    code: 'file.not-found',
  });
  t.like(lines, { 0: { file_id: file.id, bytes: 5, found: 3 }, length: 1 });
});

test('a tenant has a bounded number of files, and needs object storage', async (t) => {
  const { services, files } = await received(t);
  await t.notThrowsAsync(files.requireRoom(entitiesOf({ count: async () => 9_999 })));
  await t.throwsAsync(files.requireRoom(entitiesOf({ count: async () => 10_000 })), { code: 'file.full' });
  const objects = { ...services.objects, available: false };
  const without = createFiles({ ...services, objects, log: {} as never, maxSize: 1 });
  const refused = { code: ObjectErrors.unavailable.definition.code };
  await t.throwsAsync(without.requireRoom(entitiesOf({ count: async () => 0 })), refused);
});
