import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { ANY_AGENT, GeneTable, TaskTable } from '../../../plugins/evolution/store/tables.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { geneRow } from '../../support/gene-rows.ts';
import { until } from '../../support/until.ts';
import { adviceIn, startLearner, TOOLS } from './learning-kit.ts';

const STATS = '/api/v2/admin/evolution/stats';
const GENES = '/api/v2/admin/evolution/genes';
const TASKS = [
  'find the unpaid invoice of the customer Miller',
  'which invoices of the customer Acme are overdue',
  'send the customer Garcia a reminder for the unpaid invoice',
  'list the overdue invoices of the customer Globex',
];

const WEATHER = [
  'how will the weather be in Berlin, is there rain in the forecast',
  'weather forecast for Oslo with wind and rain',
  'is there wind or snow in the weather forecast of Lima',
  'does the forecast say rain, how is the weather in Kyoto',
];

eachGatewayDatabase(
  test,
  'an agent learns from its runs, is advised, and the operator sees it',
  async (t, fresh) => {
    const { chat, distilled, request, makeTenant } = await startLearner(t, { env: fresh.environment });
    const { id, token } = await makeTenant();
    const taskClass = 'billing';
    const first = await chat(`${TASKS[0]} [good]`, { session: 's0', token, taskClass });
    t.deepEqual(adviceIn(first), [], 'nothing is known yet');
    let runs = 1;
    for (const [index, task] of [...TASKS, ...TASKS].entries())
      for (const tool of ['good', 'bad']) {
        await chat(`${task} [${tool}]`, { session: `s${index}-${tool}`, token, taskClass });
        runs += 1;
      }
    await distilled(id, runs);

    const { body: listed } = await request(`${GENES}?q=world&limit=100`, { token });
    t.is(listed.enabled, true);
    t.is(listed.total, 2);
    const [good, bad] = listed.genes;
    t.like(good, { state: 'promoted', source: 'local', agent_name: 'clerk', use_count: 9, success_count: 9 });
    t.deepEqual(good.strategy, { component: 'plugin/world/good', type: 'prefer' });
    t.like(bad, { state: 'candidate', success_count: 0, use_count: 8, success_rate: 0 });
    t.true(good.confidence > 0.7 && bad.confidence < 0.3);
    t.is(good.label, 'Use plugin/world/good for tasks of class billing');

    const one = await request(`${GENES}/${good.id}`, { token });
    t.like(one.body, { component: 'plugin/world/good', signal_type: 'tool_success', sessions: 2 });
    t.deepEqual(one.body.signals, { tool_success: 9, tool_error: 0 });
    t.is((await request(`${GENES}/${good.id}`)).status, 404, 'another tenant has no such gene');

    /** Resolves when the agent is told these lines: what was learned or decided counts within a moment. */
    const isTold = (session: string, lines: readonly string[]) =>
      until(async () => {
        const prompt = await chat(`${TASKS[1]}, please`, { session, token, taskClass });
        return isDeepStrictEqual(adviceIn(prompt), lines);
      });
    const useGood = '- Use good: it has worked well for such tasks.';
    const avoidBad = '- Avoid bad: it has mostly failed for such tasks.';
    await isTold('s9', [useGood, avoidBad]);

    const { body: stats } = await request(STATS, { token });
    t.like(stats, { enabled: true, mode: 'local', min_confidence: 0.5, max_suggestions: 3 });
    t.true(stats.total_genes >= 4 && stats.avg_confidence > 0 && stats.success_rate > 0);
    t.regex(stats.uplift.summary, /^Not known yet/);
    const recommend = await request('/api/v2/admin/evolution/recommend', {
      method: 'POST',
      body: { query: 'what is this about billing' },
      token,
    });
    t.is(recommend.body.recommendations.length, 1);
    t.is(recommend.body.recommendations[0].id, good.id);

    t.is(
      (await request(`${GENES}/${good.id}/quarantine`, { method: 'POST', body: {}, token })).body.state,
      'quarantined',
    );
    await isTold('s10', [avoidBad]);
    t.is((await request(`${GENES}/${good.id}/promote`, { method: 'POST', token })).body.state, 'promoted');
    t.is(
      (await request(`${GENES}/${bad.id}/revoke`, { method: 'POST', body: { reason: 'x' }, token })).body
        .state,
      'revoked',
    );
    await isTold('s11', [useGood]);
    const again = await request(`${GENES}/${bad.id}/promote`, { method: 'POST', body: {}, token });
    t.deepEqual([again.status, again.body.code], [409, 'evolution.gene-revoked']);
  },
);

test('classes of tasks are found by their words, and named by those that are common', async (t) => {
  const { chat, distilled, request, makeTenant } = await startLearner(t);
  const { id, token } = await makeTenant();
  const kinds = [TASKS, WEATHER] as const;
  for (let n = 0; n < 32; n += 1) {
    const tool = n % 2 === 0 ? 'good' : 'bad';
    await chat(`${kinds[n % 2]![(n >> 1) % 4]} [${tool}]`, { session: `s${n}`, token });
  }
  await distilled(id, 32);
  const { genes } = (await request(`${GENES}?q=world&limit=100`, { token })).body;
  const labels = (tool: string) =>
    genes
      .filter(({ strategy }: { strategy: { component: string } }) => strategy.component === tool)
      .map(({ label }: { label: string }) => label)
      .join();
  t.regex(labels('plugin/world/good'), /^Use plugin\/world\/good for tasks about .*(?:invoice|customer)/);
  t.regex(labels('plugin/world/bad'), /^Avoid plugin\/world\/bad for tasks about .*(?:weather|rain|wind)/);
  await until(async () =>
    isDeepStrictEqual(adviceIn(await chat(TASKS[2]!, { session: 'x', token })), [
      '- Use good: it has worked well for such tasks.',
    ]),
  );
  t.notRegex(adviceIn(await chat(WEATHER[2]!, { session: 'y', token })).join(), /Use bad|Avoid good/);
});

test('an agent that gets one kind of task only learns from it, and is advised', async (t) => {
  const { chat, distilled, database, makeTenant } = await startLearner(t);
  const { id, token } = await makeTenant();
  const task = 'use the tool and tell me what time it is';
  for (let n = 0; n < 14; n += 1) await chat(`${task} [good]`, { session: `s${n}`, token });
  await distilled(id, 14);
  const genes = await database.forTenant(id).rows(GeneTable, { component: TOOLS.good }, { limit: 10 });
  t.deepEqual(
    genes.map(({ state }) => state),
    ['promoted'],
  );
  await until(async () =>
    isDeepStrictEqual(adviceIn(await chat(task, { session: 'x', token })), [
      '- Use good: it has worked well for such tasks.',
    ]),
  );
});

test('a session that is held out gets no advice, and the statistics compare', async (t) => {
  const { chat, distilled, request, makeTenant } = await startLearner(t, {
    env: { EVOLUTION_HOLDOUT: '0.5' },
  });
  const { id, token } = await makeTenant();
  for (let n = 0; n < 12; n += 1) await chat(`${TASKS[n % 4]} [good]`, { session: `a${n}`, token });
  await distilled(id, 12);
  const advised: boolean[] = [];
  for (let n = 0; n < 24; n += 1)
    advised.push(adviceIn(await chat(`${TASKS[n % 4]} [good]`, { session: `b${n}`, token })).length > 0);
  t.true(advised.includes(true) && advised.includes(false), `${advised}`);
  await distilled(id, 36);
  const { uplift } = (await request(STATS, { token })).body;
  t.like(uplift, { advised: 1, holdout: 1, difference: 0 });
  t.true(uplift.low < 0 && uplift.high > 0 && uplift.n > 0);
  t.regex(uplift.summary, /cannot be said yet\. With advice 100 of 100 tasks succeeded/);
});

test('a task class that the request names is kept apart from those that are found', async (t) => {
  const { chat, distilled, database, request, makeTenant } = await startLearner(t);
  const { id, token } = await makeTenant();
  for (let n = 0; n < 4; n += 1)
    await chat(`${TASKS[n]} [good]`, { session: `s${n}`, token, taskClass: 'billing' });
  const answer = await request('/v1/agent/chat', {
    method: 'POST',
    body: { agent: 'clerk', messages: [{ role: 'user', content: `${TASKS[0]} [good]` }] },
    headers: { 'x-svc-task-class': 'billing' },
    token,
  });
  t.is(answer.status, 200);
  await distilled(id, 5);
  const genes = await database
    .forTenant(id)
    .rows(GeneTable, { component: 'plugin/world/good' }, { limit: 10 });
  t.deepEqual(
    genes.map(({ taskClass, useCount, state }) => ({ taskClass, useCount, state })),
    [{ taskClass: 'billing', useCount: 5, state: 'promoted' }],
  );
});

test('where evolution is off nothing is recorded, and no prompt changes', async (t) => {
  const off = await startLearner(t, { env: { EVOLUTION_ENABLED: 'false' } });
  const without = await startLearner(t, {
    env: { EVOLUTION_ENABLED: 'false' },
    evolution: '{enabled: false}',
  });
  const task = `${TASKS[0]} [good]`;
  const prompts = [];
  for (const gateway of [off, without]) {
    const { id, token } = await gateway.makeTenant();
    for (let n = 0; n < 3; n += 1) await gateway.chat(task, { session: `s${n}`, token });
    prompts.push((await gateway.chat(task, { session: 's9', token })).messages);
    t.is(await gateway.database.forTenant(id).count(TaskTable), 0);
    t.is(await gateway.database.forTenant(id).count(GeneTable), 0);
    t.like((await gateway.request(STATS, { token })).body, { enabled: false, total_genes: 0 });
  }
  t.deepEqual(prompts[0], prompts[1]);
});

test('what administrators decide is in the audit log, and what happens in the metrics', async (t) => {
  const { chat, distilled, request, url } = await startLearner(t);
  const tenant = '00000000-0000-0000-0000-000000000001';
  for (let n = 0; n < 4; n += 1) await chat(`${TASKS[n]} [good]`, { session: `s${n}`, taskClass: 'billing' });
  await distilled(tenant, 4);
  const { genes } = (await request(`${GENES}?q=world`)).body;
  await request(`${GENES}/${genes[0].id}/quarantine`, { method: 'POST', body: { reason: 'Wrong' } });
  const wanted = async () => {
    const { body } = await request('/v1/audit-logs?limit=500');
    return body.audit_logs.find(({ action }: { action: string }) => action.endsWith('/quarantine'));
  };
  await until(async () => (await wanted()) !== undefined);
  t.like((await wanted()).detail.changes, {
    gene: genes[0].id,
    component: 'plugin/world/good',
    task_class: 'billing',
    reason: 'Wrong',
    state_from: 'promoted',
    state_to: 'quarantined',
  });
  const metrics = await (await fetch(new URL('/metrics', url))).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(metrics)?.[1]);
  t.is(value('evolution_signals_total\\{signal_type="tool_success"\\}'), 4);
  t.is(value('evolution_signals_total\\{signal_type="node_done"\\}'), 4);
  t.is(value('evolution_share_dropped_total'), 0);
  t.is(value('evolution_share_failed_total'), 0);
});

test('lists bound what is asked for, and name what is wrong', async (t) => {
  const { request } = await startLearner(t);
  t.is((await request(`${GENES}?limit=0`)).status, 400);
  t.is((await request(`${GENES}?limit=0`)).body.errors[0].pointer, '/query/limit');
  t.is((await request(`${GENES}?limit=1000`)).status, 200);
  t.is((await request(`${GENES}?min_confidence=2`)).status, 400);
  t.is(
    (await request(`${GENES}/00000000-0000-7000-8000-000000000000`)).body.code,
    'evolution.gene-not-found',
  );
  const alias = await request('/api/v1/admin/evolution/genes');
  t.deepEqual(alias.body, { enabled: true, genes: [], total: 0 });
  t.truthy(alias.headers.get('deprecation'));
  const nothing = { enabled: true, genes: [], total: 0, imported: 0 };
  for (const query of ['?q=x', ''])
    t.deepEqual((await request(`/api/v2/admin/evolution/federated${query}`)).body, nothing, query);
});

test('knowledge of others that is revoked advises no run any more', async (t) => {
  // Playbooks in use are read again by themselves as rarely as can be.
  const env = { EVOLUTION_DISTILL_INTERVAL: '1h' };
  const { chat, database, gateway, makeTenant, request } = await startLearner(t, { env });
  const { id: tenantId, token } = await makeTenant();
  const component = TOOLS.good;
  const imported = { id: gateway.services.ids.uuid(), component, agentName: ANY_AGENT, taskClass: 'billing' };
  await database
    .forTenant(tenantId)
    .insert(GeneTable, geneRow({ ...imported, source: 'hub', state: 'promoted', wins: 2 }));
  const advised = await chat(TASKS[0]!, { token, taskClass: 'billing' });
  t.is(adviceIn(advised).length, 1);
  const body = { confirm_all: true };
  const revoked = await request('/admin/v1/evolution/shared-knowledge/revoke', { method: 'POST', body });
  t.deepEqual(revoked.body, { deleted: 1 });
  t.deepEqual(adviceIn(await chat(TASKS[0]!, { token, taskClass: 'billing' })), []);
});
