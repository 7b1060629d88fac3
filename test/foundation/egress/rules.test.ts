import test from 'ava';
import pino from 'pino';
import { createIds } from '../../../foundation/base/ids.ts';
import type { Database } from '../../../foundation/data/database.ts';
import { EgressRuleTable, egressRegistration, evaluate } from '../../../foundation/egress/rule.ts';
import { createEgressRules, MAX_RULES } from '../../../foundation/egress/rules.ts';
import { tellLifecycle } from '../../../foundation/tables/tell-lifecycle.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { createTenants } from '../../../kernel/tenancy/tenants.ts';
import { fakeDurableEvents } from '../../../testing/fakes/fake-durable-events.ts';
import { type ManualClock, manualClock } from '../../../testing/manual-clock.ts';
import { openKernelDatabase } from '../../kernel/tenancy/open-kernel-database.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';

const log = pino({ level: 'silent' });

async function open(fresh: FreshDatabase) {
  const database = await openKernelDatabase({ ...fresh, options: { ...fresh.options, log } });
  await database.register(egressRegistration);
  return database;
}

const rulesOf = (database: Database, clock: ManualClock) =>
  createEgressRules(database, clock, createIds(clock));

const newTenant = async (database: Database, clock: ManualClock) =>
  createTenants({
    database,
    clock,
    ids: createIds(clock),
    lifecycle: tellLifecycle(fakeDurableEvents()),
    forgetIdentities: () => {},
  }).create({
    name: 'Acme',
  });

const URL_OF = { host: 'api.example.com', port: 443, path: '/v1' };

eachDatabase(
  test,
  'a rule is stored in one spelling, listed newest first, and deleted once',
  async (t, fresh) => {
    await using database = await open(fresh);
    const clock = manualClock();
    const rules = rulesOf(database, clock);
    const { id: tenantId } = await newTenant(database, clock);
    const made = await rules.create({
      tenantId,
      hostPattern: 'API.Bücher.example.:443',
      pathPrefix: '/a/../v 1',
      action: 'deny',
      priority: -7,
    });
    t.like(made, {
      hostPattern: 'api.xn--bcher-kva.example:443',
      pathPrefix: '/v%201',
      action: 'deny',
      priority: -7,
      tenantId,
    });
    clock.advance(10);
    const second = await rules.create({ tenantId, hostPattern: '*', action: 'allow' });
    t.like(second, { pathPrefix: '/', priority: 0 });
    clock.advance(10);
    const foreign = await rules.create({ tenantId: DEFAULT_TENANT_ID, hostPattern: '*', action: 'deny' });
    const page = { limit: 10, offset: 0 };
    t.deepEqual(await rules.list({ ...page, tenantId }), { records: [second, made], total: 2 });
    t.deepEqual(await rules.list(page), { records: [foreign, second, made], total: 3 });
    t.deepEqual(await rules.list({ limit: 1, offset: 1 }), { records: [second], total: 3 });
    t.false(await rules.delete(foreign.id, tenantId), 'a foreign rule is not there');
    t.false(await rules.delete('nobody'));
    t.true(await rules.delete(made.id, tenantId));
    t.false(await rules.delete(made.id, tenantId));
    t.true(await rules.delete(foreign.id));
    t.deepEqual((await rules.list(page)).records, [second]);
  },
);

eachDatabase(
  test,
  'a change counts at once here, and within a second on another replica',
  async (t, fresh) => {
    await using database = await open(fresh);
    await using second = await open(fresh);
    const clock = manualClock();
    const [here, elsewhere] = [rulesOf(database, clock), rulesOf(second, clock)];
    const tenantId = DEFAULT_TENANT_ID;
    const action = async (rules: typeof here) => evaluate(await rules.of(tenantId), URL_OF, 'allow').action;
    t.deepEqual([await action(here), await action(elsewhere)], ['allow', 'allow']);
    const { id } = await here.create({ tenantId, hostPattern: '*.example.com', action: 'deny' });
    t.is(await action(here), 'deny');
    clock.advance(1000);
    t.is(await action(elsewhere), 'deny');
    await elsewhere.delete(id);
    t.is(await action(elsewhere), 'allow');
    clock.advance(1000);
    t.is(await action(here), 'allow');
  },
);

eachDatabase(test, 'a tenant sees its own rules alone', async (t, fresh) => {
  await using database = await open(fresh);
  const clock = manualClock();
  const rules = rulesOf(database, clock);
  const { id: tenantId } = await newTenant(database, clock);
  await rules.create({ tenantId, hostPattern: '*', action: 'deny' });
  t.is(evaluate(await rules.of(tenantId), URL_OF, 'allow').action, 'deny');
  t.is(evaluate(await rules.of(DEFAULT_TENANT_ID), URL_OF, 'allow').action, 'allow');
  t.is(await database.forTenant(DEFAULT_TENANT_ID).count(EgressRuleTable), 0);
});

eachDatabase(
  test,
  'a tenant has no more rules than the bound, also when they are made at one time',
  async (t, fresh) => {
    await using database = await open(fresh);
    await using second = await open(fresh);
    const clock = manualClock();
    const ids = createIds(clock);
    const { id: tenantId } = await newTenant(database, clock);
    const row = () => ({
      id: ids.uuid(),
      hostPattern: 'a.example',
      pathPrefix: '/',
      action: 'deny' as const,
      priority: 0,
      createdAt: new Date(clock.now()),
    });
    await database
      .forTenant(tenantId)
      .insertMany(EgressRuleTable, Array.from({ length: MAX_RULES - 2 }, row));
    const replicas = [rulesOf(database, clock), rulesOf(second, clock)];
    const made = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) =>
        replicas[index % 2]!.create({ tenantId, hostPattern: '*', action: 'deny' }),
      ),
    );
    const codes = made.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    t.deepEqual(
      codes,
      Array.from({ length: 4 }, () => 'egress.too-many-rules'),
    );
    t.is(await database.forTenant(tenantId).count(EgressRuleTable), MAX_RULES);
    t.is(evaluate(await replicas[0]!.of(tenantId), URL_OF, 'allow').action, 'deny');
  },
);

eachDatabase(test, 'a tenant that is not there, or not any more, gets no rules', async (t, fresh) => {
  await using database = await open(fresh);
  const clock = manualClock();
  const rules = rulesOf(database, clock);
  const tenants = createTenants({
    database,
    clock,
    ids: createIds(clock),
    lifecycle: tellLifecycle(fakeDurableEvents()),
    forgetIdentities: () => {},
  });
  const { id: tenantId } = await tenants.create({ name: 'Acme' });
  await tenants.scheduleDelete(tenantId, new Date(clock.now() + 1000));
  await t.throwsAsync(rules.create({ tenantId, hostPattern: '*', action: 'deny' }), {
    code: 'tenant.deleted',
  });
  await t.throwsAsync(rules.create({ tenantId: 'nobody', hostPattern: '*', action: 'deny' }), {
    code: 'tenant.not-found',
  });
});

eachDatabase(test, 'the table is what its migration makes', async (t, fresh) => {
  await using database = await open(fresh);
  t.is(await database.schemaDrift(), '');
});

test('everything that is wrong with a rule is told together', async (t) => {
  const clock = manualClock();
  const rules = rulesOf({} as Database, clock);
  const wrong = {
    tenantId: DEFAULT_TENANT_ID,
    hostPattern: 'http://a',
    pathPrefix: 'v1',
    action: 'maybe' as never,
    priority: 1.5,
  };
  const error = await t.throwsAsync(rules.create(wrong), { code: 'egress.invalid-rule' });
  const pointers = (error as { extras?: { errors?: { pointer: string }[] } }).extras?.errors?.map(
    ({ pointer }) => pointer,
  );
  t.deepEqual(pointers, ['/body/host_pattern', '/body/path_prefix', '/body/action', '/body/priority']);
  for (const pathPrefix of [
    '',
    'v1',
    '/v1?x',
    '/v1#x',
    '/\n',
    `/${'x'.repeat(1024)}`,
    `/${'ä'.repeat(300)}`,
  ]) {
    const one = rules.create({ tenantId: DEFAULT_TENANT_ID, hostPattern: '*', action: 'allow', pathPrefix });
    await t.throwsAsync(one, { code: 'egress.invalid-rule' }, pathPrefix.slice(0, 20));
  }
});
