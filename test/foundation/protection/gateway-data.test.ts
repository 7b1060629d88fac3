import test from 'ava';
import { openDatabase } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { createGatewayData } from '../../../foundation/protection/gateway-data.ts';
import { ApiKey } from '../../../foundation/tables/api-key.ts';
import { eachDatabase } from '../../support/databases.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';
/** More than are read at one time. */
const KEYS = 501;

eachDatabase(
  test,
  'an export has all API keys, also of those that were made at one moment',
  async (t, fresh) => {
    const database = await openDatabase(fresh.options);
    t.teardown(() => database.close());
    await database.register(kernelRegistration);
    const id = (index: number) => `key-${String(index).padStart(4, '0')}`;
    const row = (index: number) => ({
      id: id(index),
      name: 'key',
      prefix: 'sk',
      hash: String(index),
      roles: ['user'],
      scopes: ['read'],
      createdAt: new Date(0),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      createdBy: id(0),
    });
    await database.forTenant(TENANT).insertMany(
      ApiKey,
      Array.from({ length: KEYS }, (_, index) => row(index)),
    );
    const data = createGatewayData({ database, audit: {} as never });
    const exported = async (userId?: string) => {
      const section = data.sections.find(({ name }) => name === 'api_keys');
      const ids: unknown[] = [];
      for await (const key of section!.read({
        tenantId: TENANT,
        userId,
        signal: new AbortController().signal,
      }))
        ids.push((key as { readonly id: unknown }).id);
      return ids;
    };
    const all = Array.from({ length: KEYS }, (_, index) => id(index));
    t.deepEqual(await exported(), all);
    t.deepEqual(await exported(id(1)), [id(1)], 'the key itself, which made none');
  },
);
