import { randomBytes } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { pino } from 'pino';
import { openDatabase } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { Note, notes, seed, TENANT_A, TENANT_B } from './fixtures/notes.ts';

const ROLE = 'agent_gateway_app';

/** Asks PostgreSQL itself, in one transaction, as the application role. */
const asRole = (fresh: FreshDatabase, tenant: string | undefined, sql: string) => {
  const setting = tenant === undefined ? '' : `select set_config('svc.tenant_id', '${tenant}', true);`;
  return ask(fresh, `begin; set local role ${ROLE}; ${setting} ${sql}`);
};

/** A message of several statements answers with the rows of each; the last ones count. */
async function ask(fresh: FreshDatabase, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: fresh.options.url });
  await client.connect();
  try {
    const result = await client.query(sql);
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  } finally {
    await client.end();
  }
}

async function prepared(t: Parameters<typeof freshDatabase>[0]) {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return undefined;
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  await database.register(notes);
  await seed(database);
  return { fresh, database };
}

test('the application role is neither superuser nor owner, cannot log in, and cannot bypass policies', async (t) => {
  const { fresh } = (await prepared(t)) ?? {};
  if (fresh === undefined) return;
  const [role] = await ask(fresh, `select * from pg_roles where rolname = '${ROLE}'`);
  t.like(role, {
    rolsuper: false,
    rolbypassrls: false,
    rolcanlogin: false,
    rolcreaterole: false,
    rolcreatedb: false,
  });
  const owned = await ask(fresh, `select relname from pg_class where relowner = '${ROLE}'::regrole`);
  t.deepEqual(owned, []);
});

test('a role that would not keep tenants apart is refused with the variable that names it', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const [{ user }] = (await ask(fresh, 'select current_user as user')) as [{ user: string }];
  await t.throwsAsync(openDatabase({ ...fresh.options, applicationRole: user }), {
    message: `The role ${user} (SVC_DATABASE_ROLE) must be neither superuser nor allowed to bypass row security`,
  });
});

test('the user that connects is refused as the role of tenants: the owner of the tables sees all rows', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const user = `gateway_test_${randomBytes(6).toString('hex')}`;
  await ask(fresh, `create role ${user} login`);
  t.teardown(() => ask(fresh, `drop role ${user}`));
  const url = (fresh.options.url ?? '').replace('root@', `${user}@`);
  await t.throwsAsync(openDatabase({ ...fresh.options, url, applicationRole: user }), {
    message: `The role ${user} (SVC_DATABASE_ROLE) is the user that connects: it owns the tables, and sees the rows of all tenants. Name another one, which the gateway makes where it may`,
  });
});

test('every tenant-owned table is under forced row-level security', async (t) => {
  const { fresh } = (await prepared(t)) ?? {};
  if (fresh === undefined) return;
  const tables = await ask(
    fresh,
    `select relname from pg_class where relkind = 'r' and relrowsecurity and relforcerowsecurity order by relname`,
  );
  t.deepEqual(
    tables.map(({ relname }) => relname),
    ['api_keys', 'audit_logs', 'comments', 'notes', 'tenants'],
  );
});

test('without the setting the application role sees nothing', async (t) => {
  const { fresh } = (await prepared(t)) ?? {};
  if (fresh === undefined) return;
  t.deepEqual(await asRole(fresh, undefined, 'select id from notes'), []);
  t.deepEqual(await asRole(fresh, '', 'select id from notes'), []);
});

test('with a tenant the application role sees and changes the rows of that tenant alone', async (t) => {
  const { fresh } = (await prepared(t)) ?? {};
  if (fresh === undefined) return;
  t.deepEqual(await asRole(fresh, TENANT_A, 'select id from notes'), [{ id: 'a1' }]);
  t.deepEqual(await asRole(fresh, TENANT_A, `update notes set text = 'x' returning id`), [{ id: 'a1' }]);
  t.deepEqual(await asRole(fresh, TENANT_A, 'delete from notes returning id'), [{ id: 'a1' }]);
});

const insertForB = `insert into notes values ('x', '${TENANT_B}', 'x', 'x', 0)`;

test('inserting for, or moving a row to, another tenant violates the policy', async (t) => {
  const { fresh } = (await prepared(t)) ?? {};
  if (fresh === undefined) return;
  await t.throwsAsync(asRole(fresh, TENANT_A, insertForB), { message: /row-level security policy/ });
  const move = `update notes set tenant_id = '${TENANT_B}'`;
  await t.throwsAsync(asRole(fresh, TENANT_A, move), { message: /row-level security policy/ });
});

test('the application role reads its own tenant record, writes none, and reaches no shared table', async (t) => {
  const { fresh } = (await prepared(t)) ?? {};
  if (fresh === undefined) return;
  const [tenant] = await asRole(fresh, '00000000-0000-0000-0000-000000000001', 'select name from tenants');
  t.deepEqual(tenant, { name: 'Default Tenant' });
  await t.throwsAsync(asRole(fresh, TENANT_A, `update tenants set plan = 'enterprise'`), {
    message: /permission denied/,
  });
  await t.throwsAsync(asRole(fresh, TENANT_A, 'select * from prices'), { message: /permission denied/ });
  await t.throwsAsync(asRole(fresh, TENANT_A, 'select * from schema_migrations'), {
    message: /permission denied/,
  });
});

test('a tenant-bound entity manager works as the application role, and the connection is itself again afterwards', async (t) => {
  const { fresh, database } = (await prepared(t)) ?? {};
  if (fresh === undefined || database === undefined) return;
  const state = `select current_user, current_setting('svc.tenant_id', true) as tenant`;
  const tenant = database.forTenant(TENANT_A);
  const source = database as never as Parameters<typeof tenant.unitOfWork>[0];
  t.deepEqual(await tenant.unitOfWork(source).execute(state), [
    { current_user: ROLE, tenant: TENANT_A },
  ] as never);
  await tenant.transaction(async (tx) => {
    t.deepEqual(await tx.unitOfWork(source).execute(state), [
      { current_user: ROLE, tenant: TENANT_A },
    ] as never);
  });
  const [after] = await database.system().execute<{ current_user: string; tenant: string | null }[]>(state);
  t.is(after?.current_user, 'root');
  t.true(after?.tenant === null || after?.tenant === '');
});

test('everything works for a connecting role that is no superuser', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const user = `gateway_test_${randomBytes(6).toString('hex')}`;
  const name = new URL(fresh.options.url ?? '').pathname.slice(1);
  await ask(
    fresh,
    `create role ${user} login; grant ${ROLE} to ${user}; grant create, connect on database ${name} to ${user}; grant create on schema public to ${user}`,
  );
  t.teardown(() => ask(fresh, `drop owned by ${user}; drop role ${user}`));
  const url = (fresh.options.url ?? '').replace('root@', `${user}@`);
  const database = await openDatabase({ ...fresh.options, url });
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  await database.register(notes);
  await seed(database);
  t.deepEqual(
    (await database.forTenant(TENANT_A).find(Note, {})).map(({ id }) => id),
    ['a1'],
  );
  t.is(await database.system().count(Note), 2);
  t.is(await database.system().nativeUpdate(Note, {}, { views: 9 }), 2);
  t.is(await database.schemaDrift(), '');
  await database.register(notes);
});

test('a connecting role that may not use the application role is told what its administrator has to run', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  await (await openDatabase(fresh.options)).close();
  const user = `gateway_test_${randomBytes(6).toString('hex')}`;
  await ask(fresh, `create role ${user} login`);
  t.teardown(() => ask(fresh, `drop role ${user}`));
  const url = (fresh.options.url ?? '').replace('root@', `${user}@`);
  const error = await t.throwsAsync(openDatabase({ ...fresh.options, url }), { name: 'DatabaseStartError' });
  t.regex(error?.message ?? '', /\(SVC_DATABASE_ROLE\) is missing/);
  t.true(error?.message.endsWith(`create role "${ROLE}" nologin; grant "${ROLE}" to "${user}";`));
});

test('tables go over to the role of the last start: the role before is refused, finds nothing empty, and gets them back', async (t) => {
  const { fresh, database } = (await prepared(t)) ?? {};
  if (fresh === undefined || database === undefined) return;
  const role = `gateway_test_${randomBytes(6).toString('hex')}`;
  t.teardown(() => ask(fresh, `drop owned by ${role}; drop role ${role}`));
  const warnings: { readonly others?: readonly string[] }[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line)) });
  const start = async (applicationRole: string) => {
    const started = await openDatabase({ ...fresh.options, applicationRole, log });
    t.teardown(() => started.close());
    await started.register(kernelRegistration);
    await started.register(notes);
    return started;
  };
  const read = async (from: typeof database) =>
    (await from.forTenant(TENANT_A).find(Note, {})).map(({ id }) => id);

  const other = await start(role);
  t.deepEqual(await read(other), ['a1']);
  await t.throwsAsync(read(database), { message: /permission denied for table notes/ });
  t.true(warnings.length > 0 && warnings.every(({ others }) => others?.join() === ROLE));
  // No tenant can be served from there: readiness says so.
  await t.throwsAsync(database.ping(5_000), {
    code: 'database.unavailable',
    message: /agent_gateway_app \(SVC_DATABASE_ROLE\) has no rights on the tables any more/,
  });
  await other.ping(5_000);

  // The change is undone.
  warnings.length = 0;
  const again = await start(ROLE);
  t.deepEqual(await read(again), ['a1']);
  t.deepEqual(await read(database), ['a1']);
  await database.ping(5_000);
  t.is(await again.forTenant(TENANT_A).update(Note, { id: 'a1' }, { views: 3 }), 1);
  await t.throwsAsync(read(other), { message: /permission denied for table notes/ });
  t.true(warnings.length > 0 && warnings.every(({ others }) => others?.join() === role));

  warnings.length = 0;
  await start(ROLE);
  t.deepEqual(warnings, []);
});

test('a replica from which another role took the tables takes none of them back, so that one role has all', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const role = `gateway_test_${randomBytes(6).toString('hex')}`;
  t.teardown(() => ask(fresh, `drop owned by ${role}; drop role ${role}`));
  const open = async (applicationRole: string) => {
    const opened = await openDatabase({ ...fresh.options, applicationRole });
    t.teardown(() => opened.close());
    await opened.register(kernelRegistration);
    return opened;
  };
  const database = await open(ROLE);
  const other = await open(role);
  await other.register(notes);
  await seed(other);
  // As where both start at one time, or a plugin is reloaded.
  await t.throwsAsync(database.register(notes), { message: /has no rights on the tables any more/ });
  t.is(await other.forTenant(TENANT_A).count(Note, {}), 1);
  await other.ping(5_000);
});

interface WirePool {
  on(event: 'acquire', listener: (client: { connection: { query(text: string): void } }) => void): void;
}

/** Records every message that the driver sends from now on. */
function record(pool: WirePool): string[] {
  const sent: string[] = [];
  const watched = new WeakSet();
  pool.on('acquire', ({ connection }) => {
    if (watched.has(connection)) return;
    watched.add(connection);
    const query = connection.query.bind(connection);
    connection.query = (text) => {
      sent.push(text);
      query(text);
    };
  });
  return sent;
}

test('a schema may have capital letters and hyphens in its name, as that of a user has', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const [{ name }] = (await ask(fresh, 'select current_database() as name')) as [{ name: string }];
  await ask(fresh, `create schema "Svc-Gateway"; alter database "${name}" set search_path = "Svc-Gateway"`);
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  t.is(await database.forTenant(TENANT_A).count(Note, {}), 1);
  await t.notThrowsAsync(database.ping(5_000));
  const [{ schema }] = (await ask(
    fresh,
    "select schemaname as schema from pg_tables where tablename = 'notes'",
  )) as [{ schema: string }];
  t.is(schema, 'Svc-Gateway');
});

test('the application role may have capital letters and hyphens in its name', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const applicationRole = `Gateway-Test-${randomBytes(6).toString('hex')}`;
  t.teardown(() => ask(fresh, `drop owned by "${applicationRole}"; drop role "${applicationRole}"`));
  const database = await openDatabase({ ...fresh.options, applicationRole });
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  t.is(await database.forTenant(TENANT_A).count(Note, {}), 1);
  await t.notThrowsAsync(database.ping(5_000));
});

test('the tenant costs no round trip of its own', async (t) => {
  const { database } = (await prepared(t)) ?? {};
  if (database === undefined) return;
  const connection = database.system().getConnection() as unknown as { getNativeClient(): Promise<WirePool> };
  const sent = record(await connection.getNativeClient());

  await database.forTenant(TENANT_A).find(Note, { id: 'a1' });
  t.is(sent.length, 1);
  t.regex(sent[0] ?? '', /^set local svc\.tenant_id =.*; set local role =.*; select/);

  sent.length = 0;
  await database.forTenant(TENANT_A).transaction(async (tx) => {
    await tx.update(Note, { id: 'a1' }, { text: 'one' });
    await tx.update(Note, { id: 'a1' }, { text: 'two' });
  });
  t.is(sent.length, 3);
  t.regex(sent[0] ?? '', /^begin; .*set local role =.*; update/);
  t.is(sent[2], 'commit');

  sent.length = 0;
  await database.forTenant(TENANT_A).transaction(async () => {});
  t.deepEqual(sent, []);
});
