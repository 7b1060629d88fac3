import test from 'ava';
import { retainedApiKeys } from '../../../foundation/protection/retained-api-keys.ts';
import { ApiKey } from '../../../foundation/tables/api-key.ts';
import { openKernelDatabase } from '../../kernel/tenancy/open-kernel-database.ts';
import { eachDatabase } from '../../support/databases.ts';

const RULE = new Date(10_000);
const [BEFORE, AFTER] = [new Date(9_000), new Date(11_000)];

const key = (id: string, tenantId: string, revokedAt: Date | null, expiresAt: Date | null) => ({
  id,
  tenantId,
  revokedAt,
  expiresAt,
  name: 'key',
  prefix: 'hk_xxxxx',
  hash: id,
  roles: [],
  scopes: [],
  createdAt: new Date(0),
});

eachDatabase(test, 'keys go when they have been of no use for long, and no others', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  await database
    .system()
    .insertMany(ApiKey, [
      key('live', 'a', null, null),
      key('will-expire', 'a', null, AFTER),
      key('revoked', 'a', BEFORE, null),
      key('revoked-lately', 'a', AFTER, null),
      key('expired', 'a', null, BEFORE),
      key('expired-first', 'a', AFTER, BEFORE),
      key('of-another', 'b', BEFORE, BEFORE),
    ]);
  const kept = retainedApiKeys(database);
  t.deepEqual(
    await kept.sizes(),
    new Map([
      ['a', 6],
      ['b', 1],
    ]),
  );
  t.deepEqual([await kept.count('a'), await kept.count('a', RULE), await kept.count('b', RULE)], [6, 3, 1]);
  let deleted = 0;
  for await (const count of kept.deleteBefore('a', RULE, AbortSignal.timeout(60_000))) deleted += count;
  t.is(deleted, 3);
  const left = await database.system().find(ApiKey, {}, { orderBy: { id: 'asc' } });
  t.deepEqual(
    left.map(({ id }) => id),
    ['live', 'of-another', 'revoked-lately', 'will-expire'],
  );
});
