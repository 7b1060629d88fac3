import test from 'ava';
import { startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { pluginFolder } from '../support/plugin-folder.ts';
import { until } from '../support/until.ts';

const plugin = (name: string, handle: string) => ({
  'plugin.ts': `
    import { access, definePlugin, route } from 'agent-gateway';
    import { later } from './later.ts';
    export default definePlugin({
      name: '${name}', summary: 's', kernel: '^1.0.0',
      setup(scope) {
        scope.route(route({ method: 'GET', path: '/${name}', access: access.public(), summary: 's', rateLimit: 'none', handle: ${handle} }));
      },
    });`,
  'later.ts':
    "export async function later() { await null; throw new Error('forgotten, token=hunter2secret'); }",
});

test('an error that a plugin does not handle ends the process after what is in flight, names the plugin, and the third leaves it out', async (t) => {
  const plugins = await pluginFolder(t);
  // However many errors follow the first, the process ends once.
  await plugins.drop('crashes', plugin('crashes', "() => { later(); later(); later(); return 'soon'; }"));
  await plugins.drop(
    'patient',
    plugin('patient', '() => new Promise((done) => setTimeout(() => done("whole"), 1_500))'),
  );
  const folder = await temporaryFolder(t);
  const env = { SVC_PLUGIN_DIRS: plugins.path, SVC_PLUGINS: 'crashes,patient' };

  for (let round = 1; round <= 3; round += 1) {
    const gateway = await startGatewayProcess(t, folder, env);
    const { degraded } = (await gateway.request('/health/ready')).body;
    t.is(degraded, undefined, `start ${round}`);
    const patient = gateway.request('/patient');
    await new Promise((begun) => setTimeout(begun, 200));
    await gateway.request('/crashes').catch(() => undefined);
    const { status, body } = await patient;
    t.deepEqual([status, body], [200, 'whole'], 'the call of another plugin ends as if nothing were');
    const { code } = await gateway.ended;
    t.is(code, 1);
    const fatal = gateway.logs().find(({ level }) => level === 'fatal' || level === 60);
    t.like(fatal, { plugin: 'crashes' }, JSON.stringify(fatal));
    t.false(JSON.stringify(gateway.logs()).includes('hunter2secret'));
  }

  const gateway = await startGatewayProcess(t, folder, env);
  const { degraded } = (await gateway.request('/health/ready')).body;
  t.deepEqual(degraded, [{ name: 'crashes', state: 'failed' }]);
  t.is((await gateway.request('/crashes')).status, 404);
  const shown = async () => (await gateway.request('/admin/v1/plugins/crashes')).body;
  t.regex((await shown()).reason, /^left out: .*three times within ten minutes.*enable it/);
  t.true(gateway.logs().some(({ plugin: name, msg }) => name === 'crashes' && /left out/.test(String(msg))));

  t.is((await gateway.request('/admin/v1/plugins/crashes/enable', { method: 'POST' })).status, 200);
  t.is((await shown()).state, 'active');
  await gateway.request('/crashes').catch(() => undefined);
  t.is((await gateway.ended).code, 1);
  const again = await startGatewayProcess(t, folder, env);
  await until(async () => (await again.request('/crashes')).status !== 404);
  t.pass('it has been forgiven: one error is none too many');
});
