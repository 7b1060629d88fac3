import { raw } from '@mikro-orm/core';
import test, { type ExecutionContext } from 'ava';
import { DatabaseDefect, openDatabase, type RowWrite, writes } from '../../../foundation/data/database.ts';
import type { DatabaseRule } from '../../../foundation/data/errors.ts';
import { TenantRules } from '../../../foundation/data/tenant-rules.ts';
import type { TenantSource } from '../../../foundation/data/tenant-source.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { Tenant } from '../../../foundation/tables/tenant.ts';
import { freshDatabase } from '../../support/databases.ts';
import { Note, notes, Price, TENANT_A, TENANT_B } from './fixtures/notes.ts';

/** The rules ask no database but for references, so that one family speaks for all. */
async function open(t: ExecutionContext): Promise<TenantSource> {
  const fresh = await freshDatabase(t, 'sqlite');
  const database = await openDatabase((fresh as NonNullable<typeof fresh>).options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  await database.register(notes);
  return database as unknown as TenantSource;
}

const row = { id: 'n1', slug: 'n1', text: 'new', views: 0 };

interface Refused {
  readonly title: string;
  readonly rule: DatabaseRule;
  readonly message: string;
  readonly write: RowWrite;
}

const foreign = 'This Note is not of the tenant to which the entity manager is bound';
const sql = 'A tenant-bound entity manager takes no raw SQL; see increment and aggregate';

const REFUSED: readonly Refused[] = [
  {
    title: "another tenant's row",
    rule: 'foreign-tenant',
    message: foreign,
    write: writes.insert(Note, [row, { ...row, tenantId: TENANT_B }]),
  },
  {
    title: 'a change to another tenant',
    rule: 'foreign-tenant',
    message: foreign,
    write: writes.update(Note, {}, { tenantId: TENANT_B }),
  },
  {
    title: 'a change to no tenant',
    rule: 'foreign-tenant',
    message: foreign,
    write: writes.update(Note, {}, { tenantId: undefined }),
  },
  {
    title: 'the tenant of a row by the name of its column',
    rule: 'unknown-property',
    message: 'Note has no property tenant_id',
    write: writes.insert(Note, [{ ...row, tenant_id: TENANT_B } as never]),
  },
  {
    title: 'the tenant of a change by the name of its column',
    rule: 'unknown-property',
    message: 'Note has no property tenant_id',
    write: writes.update(Note, {}, { tenant_id: TENANT_B } as never),
  },
  {
    title: 'raw SQL as a key of a row',
    rule: 'raw-sql',
    message: sql,
    write: writes.insert(Note, [{ ...row, [raw('views')]: 1 }]),
  },
  {
    title: 'raw SQL as a key of a change',
    rule: 'raw-sql',
    message: sql,
    write: writes.update(Note, {}, { text: 'x', [raw('views')]: 1 }),
  },
  {
    title: 'raw SQL in a row',
    rule: 'raw-sql',
    message: sql,
    write: writes.insert(Note, [{ ...row, text: raw('(select 1)') as never }]),
  },
  {
    title: 'raw SQL in a change',
    rule: 'raw-sql',
    message: sql,
    write: writes.update(Note, {}, { text: raw('(select 1)') as never }),
  },
  {
    title: 'raw SQL in a condition',
    rule: 'raw-sql',
    message: sql,
    write: writes.update(Note, { [raw('1 = 1) or (1')]: 1 } as never, { text: 'x' }),
  },
  {
    title: 'no row of an entity that belongs to no tenant',
    rule: 'not-tenant-owned',
    message: 'Price belongs to no tenant; only database.system() reaches it',
    write: writes.insert(Price, []),
  },
  {
    title: "a change of the tenant's own record",
    rule: 'read-only',
    message: "Tenant is the tenant's own record; only database.system() writes it",
    write: writes.update(Tenant, {}, { plan: 'enterprise' }),
  },
];

test('of several writes each is refused by the rule that it breaks', async (t) => {
  const rules = new TenantRules(TENANT_A, await open(t));
  for (const { title, rule, message, write } of REFUSED) {
    const defect = t.throws(() => rules.ready(write), { instanceOf: DatabaseDefect, message }, title);
    t.is(defect?.rule, rule, title);
  }
});

test('a row of several writes is bound once, and is the given one where it names no tenant', async (t) => {
  const source = await open(t);
  const seen: unknown[] = [];
  const plainRows = {
    ...source.plainRows,
    ready(...[meta, bound, write]: Parameters<TenantSource['plainRows']['ready']>) {
      seen.push(bound, ...(write.kind === 'insert' ? write.rows : []));
      return source.plainRows.ready(meta, bound, write);
    },
  };
  const rules = new TenantRules(TENANT_A, {
    tenancies: source.tenancies,
    metadata: source.metadata.bind(source),
    plainRows,
  } as unknown as TenantSource);
  const given = [
    row,
    { ...row, tenantId: TENANT_A },
    { ...row, tenantId: undefined },
    { ...row, tenantId: null as never },
  ];
  t.truthy(rules.ready(writes.insert(Note, given)));
  t.is(rules.ready(writes.update(Note, { $or: [{ id: 'n1' }] } as never, { text: 'x' })), undefined);
  t.deepEqual(seen, [{ tenantId: TENANT_A }, row, row, row, row, { tenantId: TENANT_A }]);
  t.is(seen[1], row);
});

test('a new row gets the tenant, and a change may name the one that the row has', async (t) => {
  const rules = new TenantRules(TENANT_A, await open(t));
  for (const tenantId of [undefined, null, TENANT_A]) {
    t.deepEqual(rules.row(Note, { ...row, tenantId }), { ...row, tenantId: TENANT_A });
  }
  t.notThrows(() => rules.assertChangeable(Note, {}, { text: 'x', tenantId: TENANT_A }));
  for (const tenantId of [undefined, null, TENANT_B]) {
    t.throws(() => rules.assertChangeable(Note, {}, { tenantId }), { message: foreign });
  }
});

test('an increment does not name the tenant, not even the own one', async (t) => {
  const rules = new TenantRules(TENANT_A, await open(t));
  t.notThrows(() => rules.assertIncrementable(Note, {}, { views: 1 }, { text: 'x' }));
  t.throws(() => rules.assertIncrementable(Note, {}, { views: 1 }, { tenantId: TENANT_A }), {
    message: foreign,
  });
  t.throws(() => rules.assertIncrementable(Note, {}, { tenantId: 1 }, {}), { message: foreign });
});

test('what is read is bound by the property that holds its tenant', async (t) => {
  const rules = new TenantRules(TENANT_A, await open(t));
  t.deepEqual(rules.assertReadable(Note, {}), { tenantId: TENANT_A });
  t.deepEqual(rules.assertReadable(Tenant, {}), { id: TENANT_A });
});
