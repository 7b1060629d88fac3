import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import Type from 'typebox';
import { field } from '../../../foundation/config/field.ts';
import { serviceRef } from '../../../kernel/api/refs.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

const Counter = serviceRef<{ generation: number }>('counter.counter');

/** Counts its set-ups; fails while `isBroken`. */
function counting() {
  const control = { setUps: 0, isBroken: false };
  const plugin = testPlugin('counter', {
    offers: [Counter],
    config: Type.Object({ label: field.string({ default: 'a', description: 'a label' }) }),
    setup: (scope) => {
      control.setUps += 1;
      if (control.isBroken) throw new Error('the set-up is broken');
      const generation = control.setUps;
      scope.provide(Counter, { generation });
      scope.route(
        publicRoute('/count', () => ({ generation, label: (scope.config as { label: string }).label })),
      );
    },
  });
  return { control, plugin };
}

const dependent = testPlugin('dependent', {
  needs: { counter: Counter },
  setup: (scope, { counter }) => {
    scope.route(
      publicRoute('/dependent', () => ({ generation: (counter as { generation: number }).generation })),
    );
  },
});

const wishful = testPlugin('wishful', {
  wants: { counter: Counter },
  setup: (scope, { counter }) => {
    const generation = (counter as { generation: number } | undefined)?.generation ?? null;
    scope.route(publicRoute('/wishful', () => ({ generation })));
  },
});

test('reload sets a plugin up anew, and those that need or want it with it', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin, dependent, wishful] });
  t.is((await gateway.request('/admin/v1/plugins/counter/reload', { method: 'POST' })).status, 200);
  t.is((await gateway.request('/count')).body.generation, 2);
  t.is((await gateway.request('/dependent')).body.generation, 2);
  t.is((await gateway.request('/wishful')).body.generation, 2);
});

test('enabling a plugin that runs leaves it as it is, and writes down that it is wanted', async (t) => {
  const { plugin, control } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin, dependent] });
  const { status, body } = await gateway.request('/admin/v1/plugins/counter/enable', { method: 'POST' });
  t.deepEqual([status, body.state, control.setUps], [200, 'active', 1]);
  t.regex(await readFile(path.join(gateway.folder, 'gateway.yaml'), 'utf8'), /counter:\s+enabled: true/);
  await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
  await gateway.request('/admin/v1/plugins/counter/enable', { method: 'POST' });
  t.is((await gateway.request('/dependent')).body.generation, 2);
});

test('disabling a plugin stops what needs it, and restarts what only wants it', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin, dependent, wishful] });
  await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
  t.is((await gateway.request('/count')).status, 404);
  t.is((await gateway.request('/dependent')).status, 404);
  t.is((await gateway.request('/wishful')).body.generation, null);
  const { body } = await gateway.request('/admin/v1/plugins/dependent');
  t.is(body.state, 'waiting');
  t.regex(body.reason, /needs counter\.counter of counter, which does not run \(disabled in gateway\.yaml\)/);
  await gateway.request('/admin/v1/plugins/counter/enable', { method: 'POST' });
  t.is((await gateway.request('/dependent')).body.generation, 2);
  t.is((await gateway.request('/wishful')).body.generation, 2);
});

test('a reload that fails keeps the old generation, says why, and succeeds when the cause is gone', async (t) => {
  const { plugin, control } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin, dependent] });
  control.isBroken = true;
  const refused = await gateway.request('/admin/v1/plugins/counter/reload', { method: 'POST' });
  t.is(refused.status, 409);
  t.is(refused.body.code, 'plugin.change-failed');
  t.is(refused.body.detail, 'counter: the set-up is broken');
  t.is((await gateway.request('/count')).body.generation, 1);
  const { body } = await gateway.request('/admin/v1/plugins/counter');
  t.is(body.state, 'active');
  t.is(body.last_error.message, 'the set-up is broken');
  control.isBroken = false;
  t.is((await gateway.request('/admin/v1/plugins/counter/reload', { method: 'POST' })).status, 200);
  t.is((await gateway.request('/dependent')).body.generation, 3);
});

test('a plugin that failed at the start can be enabled once its cause is gone', async (t) => {
  const { plugin, control } = counting();
  control.isBroken = true;
  await using gateway = await startTestGateway({ plugins: [plugin, dependent] });
  t.is((await gateway.request('/admin/v1/plugins/counter')).body.state, 'failed');
  control.isBroken = false;
  t.is((await gateway.request('/admin/v1/plugins/counter/enable', { method: 'POST' })).body.state, 'active');
  t.is((await gateway.request('/dependent')).status, 200);
});

test('what the administration changes is written to gateway.yaml, so that a restart gives what is running', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({
    plugins: [plugin],
    yaml: '# ours\nplugins:\n  counter:\n    config: {label: b} # why\n',
  });
  await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
  const text = await readFile(path.join(gateway.folder, 'gateway.yaml'), 'utf8');
  t.regex(text, /# ours/);
  t.regex(text, /# why/);
  t.regex(text, /enabled: false/);
});

test('a missing gateway.yaml is created by the first change', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin] });
  await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
  t.regex(await readFile(path.join(gateway.folder, 'gateway.yaml'), 'utf8'), /counter:\n\s+enabled: false/);
});

test('with a broken gateway.yaml nothing is switched, and the answer names file and line once', async (t) => {
  await using gateway = await startTestGateway({ plugins: [counting().plugin] });
  const file = path.join(gateway.folder, 'gateway.yaml');
  await writeFile(file, 'plugins:\n  counter:\n    enabled: [\n');
  for (const verb of ['disable', 'enable']) {
    const { status, body } = await gateway.request(`/admin/v1/plugins/counter/${verb}`, { method: 'POST' });
    t.is(status, 409);
    t.is(body.code, 'plugin.file-invalid');
    t.log(body.detail);
    t.is(body.detail.split(`${file}:`).length, 2, body.detail);
  }
  t.is((await gateway.request('/admin/v1/plugins/counter')).body.state, 'active');
});

test('with a gateway.yaml that was emptied everything stays as it is, and nothing is switched', async (t) => {
  const { plugin } = counting();
  const resting = testPlugin('resting', { setup: (scope) => scope.route(publicRoute('/resting', () => 1)) });
  await using gateway = await startTestGateway({
    plugins: [plugin, resting],
    yaml: 'plugins:\n  resting: { enabled: false }\n',
  });
  await writeFile(path.join(gateway.folder, 'gateway.yaml'), '');
  const { status, body } = await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
  t.deepEqual([status, body.code], [409, 'plugin.file-invalid']);
  t.regex(body.detail, /gateway\.yaml: is empty; write `plugins: \{\}` for all defaults/);
  t.is((await gateway.request('/admin/v1/plugins/counter')).body.state, 'active');
  t.is((await gateway.request('/resting')).status, 404);
});

test('where gateway.yaml cannot be changed nothing is switched, and what was set up for it is undone', async (t) => {
  const { plugin, control } = counting();
  const resting = testPlugin('resting', { setup: (scope) => scope.route(publicRoute('/resting', () => 1)) });
  // A file that is good, and that can only be changed by hand.
  const yaml = (rest: string) =>
    `plugins:\n  counter: &on {enabled: true}\n  dependent: *on\n  resting: ${rest}\n`;
  await using gateway = await startTestGateway({
    plugins: [plugin, dependent, resting],
    yaml: `${yaml('&off {enabled: false}')}  later: *off\n`,
  });
  const states = async () =>
    (await gateway.request('/admin/v1/plugins')).body.plugins.map((one: Record<string, unknown>) => [
      one.name,
      one.state,
      one.reason,
      one.enabled,
      one.last_error,
      one.leaks,
    ]);
  const before = await states();
  for (const [name, verb] of [
    ['counter', 'disable'],
    ['resting', 'enable'],
    ['resting', 'enable'],
  ]) {
    const { status, body } = await gateway.request(`/admin/v1/plugins/${name}/${verb}`, { method: 'POST' });
    t.deepEqual([status, body.code], [409, 'plugin.file-invalid']);
    t.regex(body.detail, /gateway\.yaml: cannot be changed by itself/);
  }
  t.deepEqual(await states(), before);
  t.deepEqual([(await gateway.request('/dependent')).body.generation, control.setUps], [1, 1]);
  t.is((await gateway.request('/resting')).status, 404);
  await writeFile(path.join(gateway.folder, 'gateway.yaml'), yaml('{enabled: false}'));
  t.is((await gateway.request('/admin/v1/plugins/resting/enable', { method: 'POST' })).status, 200);
  t.is((await gateway.request('/resting')).status, 200);
});

test('a report tells one configuration from another by its hash, which a reload alone does not change', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const hashOf = async () => (await gateway.request('/admin/v1/plugins')).body.plugins[0].config_hash;
  const first = await hashOf();
  t.regex(first, /^[0-9a-f]{12}$/);
  await gateway.request('/admin/v1/plugins/counter/reload', { method: 'POST' });
  t.is(await hashOf(), first);
  await writeFile(
    path.join(gateway.folder, 'gateway.yaml'),
    'plugins: { counter: { config: { label: b } } }',
  );
  await until(async () => (await hashOf()) !== first);
  await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
  t.is(await hashOf(), null);
});

test('an edit of gateway.yaml enables, disables and reconfigures while the gateway runs', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const edit = (yaml: string) => writeFile(path.join(gateway.folder, 'gateway.yaml'), yaml);
  await edit('plugins:\n  counter:\n    config: {label: b}\n');
  await until(async () => (await gateway.request('/count')).body.label === 'b');
  await edit('plugins:\n  counter:\n    enabled: false\n');
  await until(async () => (await gateway.request('/count')).status === 404);
  await edit('plugins: {}\n');
  await until(async () => (await gateway.request('/count')).body.label === 'a');
  t.pass();
});

test('a new configuration that fails, or a file that is no YAML, leaves everything as it was', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const edit = (yaml: string) => writeFile(path.join(gateway.folder, 'gateway.yaml'), yaml);
  await edit('plugins:\n  counter:\n    config: {label: [1]}\n');
  await until(async () => (await gateway.request('/admin/v1/plugins/counter')).body.last_error !== null);
  t.is((await gateway.request('/count')).body.label, 'a');
  await edit('plugins: [');
  await until(() => gateway.logs().some((line) => line.includes('is not valid')));
  t.is((await gateway.request('/count')).body.label, 'a');
});

test('a metric says for how long gateway.yaml is not what the gateway runs with', async (t) => {
  const { plugin } = counting();
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const isFailed = async () =>
    String((await gateway.request('/metrics')).body).match(/^svc_gateway_file_failed (\d)$/m)?.[1] === '1';
  t.false(await isFailed());
  for (const yaml of ['plugins: {counter: {config: {label: [1]}}}', 'plugins: [']) {
    await writeFile(fileOf(gateway), yaml);
    await until(isFailed);
    await writeFile(fileOf(gateway), 'plugins: {}');
    await until(async () => !(await isFailed()));
  }
  t.is((await gateway.request('/count')).body.generation, 1);
});

const fileOf = ({ folder }: { readonly folder: string }) => path.join(folder, 'gateway.yaml');

/**
 * A plugin that wants the counter: it is set up anew with each change of that, and waits in it while the gate is
 * closed.
 */
function gated() {
  const control = { waits: 0, isOpen: true };
  const plugin = testPlugin('gated', {
    wants: { counter: Counter },
    setup: async () => {
      if (control.isOpen) return;
      control.waits += 1;
      await until(() => control.isOpen, 20_000);
    },
  });
  return { control, plugin };
}

test('a plugin that is disabled and enabled at the same time is in the end what gateway.yaml says', async (t) => {
  const { control, plugin } = gated();
  await using gateway = await startTestGateway({ plugins: [counting().plugin, plugin] });
  const change = (verb: string) => gateway.request(`/admin/v1/plugins/counter/${verb}`, { method: 'POST' });
  for (const [first, second] of [
    ['disable', 'enable'],
    ['reload', 'disable'],
    // From here on it is stopped when the first begins.
    ['enable', 'disable'],
  ] as const) {
    control.isOpen = false;
    control.waits = 0;
    const one = change(first);
    await until(() => control.waits === 1);
    const other = change(second);
    for (let i = 0; i < 5; i += 1) await gateway.request('/admin/v1/plugins');
    control.isOpen = true;
    t.deepEqual([(await one).status, (await other).status], [200, 200]);
    const { body } = await gateway.request('/admin/v1/plugins/counter');
    t.is(body.state, second === 'enable' ? 'active' : 'stopped');
    t.is(body.enabled, second === 'enable');
    t.regex(await readFile(fileOf(gateway), 'utf8'), new RegExp(`enabled: ${second === 'enable'}`));
  }
});

test('what is put back by hand right after a change through the administration takes effect', async (t) => {
  const yaml = 'plugins:\n  counter:\n    enabled: true\n';
  await using gateway = await startTestGateway({ plugins: [counting().plugin], yaml });
  for (let round = 0; round < 3; round += 1) {
    await gateway.request('/admin/v1/plugins/counter/disable', { method: 'POST' });
    await writeFile(fileOf(gateway), yaml);
    await until(async () => (await gateway.request('/count')).status === 200);
  }
  t.is(await readFile(fileOf(gateway), 'utf8'), yaml);
});

test('a second edit of gateway.yaml during a slow set-up of the first is what runs in the end', async (t) => {
  const { control, plugin } = gated();
  await using gateway = await startTestGateway({ plugins: [counting().plugin, plugin] });
  control.isOpen = false;
  await writeFile(fileOf(gateway), 'plugins: {counter: {config: {label: b}}}\n');
  await until(() => control.waits === 1);
  await writeFile(fileOf(gateway), 'plugins: {counter: {enabled: false}, countr: {}}\n');
  await until(() => gateway.logs().some((line) => line.includes('plugins.countr')));
  control.isOpen = true;
  await until(async () => (await gateway.request('/count')).status === 404);
  t.is((await gateway.request('/admin/v1/plugins/counter')).body.state, 'stopped');
});

test('a plugin that gateway.yaml names and that is not there is warned of with its line, at the start and at a change', async (t) => {
  await using gateway = await startTestGateway({
    plugins: [counting().plugin],
    yaml: 'plugins:\n  countre: {}\n',
  });
  const warned = () => gateway.logs().filter((line) => line.includes('names a plugin that no folder holds'));
  t.is(warned().length, 1);
  t.regex(
    warned()[0]!,
    /gateway\.yaml:2: plugins\.countre: no folder holds such a plugin, did you mean counter\?/,
  );
  await writeFile(fileOf(gateway), 'plugins:\n  counter: {}\n  count3r: {}\n');
  await until(() => warned().length === 2);
  t.regex(warned()[1]!, /gateway\.yaml:3: plugins\.count3r: .*did you mean counter\?/);
});

test('the administration of plugins is for operators with an ops scope', async (t) => {
  await using gateway = await startTestGateway({ plugins: [] });
  t.is((await gateway.request('/admin/v1/plugins', { token: null })).status, 401);
  const { apiKeys, tenants } = gateway.gateway.services;
  const other = await tenants.create({ name: 'another tenant' });
  const settings = { name: 'key', scopes: [], expiresAt: null, createdBy: null };
  const ops = await apiKeys.create({
    ...settings,
    tenantId: '00000000-0000-0000-0000-000000000001',
    roles: ['ops'],
  });
  const user = await apiKeys.create({
    ...settings,
    tenantId: '00000000-0000-0000-0000-000000000001',
    roles: ['user'],
  });
  const foreign = await apiKeys.create({ ...settings, tenantId: other.id, roles: ['ops'] });
  t.is((await gateway.request('/admin/v1/plugins', { token: ops.key })).status, 200);
  t.is((await gateway.request('/admin/v1/plugins', { token: user.key })).status, 403);
  t.is((await gateway.request('/admin/v1/plugins', { token: foreign.key })).status, 403);
  t.is((await gateway.request('/admin/v1/plugins/none')).status, 404);
});

test('enabling and disabling while 50 requests are in flight fails none of them', async (t) => {
  const { plugin } = counting();
  const worker = testPlugin('worker', {
    setup: (scope) =>
      scope.route(
        publicRoute('/work', async () => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          return { ok: true };
        }),
      ),
  });
  await using gateway = await startTestGateway({ plugins: [plugin, worker] });
  const statuses = new Map<number, number>();
  let isOver = false;
  const load = Array.from({ length: 50 }, async () => {
    while (!isOver) {
      const { status } = await gateway.request('/work');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  for (let cycle = 0; cycle < 10; cycle += 1) {
    for (const verb of ['disable', 'enable']) {
      t.is((await gateway.request(`/admin/v1/plugins/counter/${verb}`, { method: 'POST' })).status, 200);
    }
    t.is((await gateway.request('/admin/v1/plugins/worker/reload', { method: 'POST' })).status, 200);
  }
  isOver = true;
  await Promise.all(load);
  t.deepEqual([...statuses.keys()], [200]);
});
