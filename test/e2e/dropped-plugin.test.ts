import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { chosenFeatures } from '../../scripts/new-plugin/features.ts';
import { writePlugin } from '../../scripts/new-plugin/write-plugin.ts';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { pluginFolder } from '../support/plugin-folder.ts';
import { publicRoute, testPlugin } from '../support/plugins.ts';
import { until } from '../support/until.ts';

const PRESET = `apiVersion: svc/v1
kind: WeatherPreset
metadata: {name: sky}
spec: {text: Cloudy}
`;

const post = ({ request }: TestGateway, body: object) => request('/v1/weather', { method: 'POST', body });
const stateOf = ({ gateway }: TestGateway) => gateway.host.slots.find('weather')?.status.state;

test('a plugin with a route, a gRPC method and a YAML kind is dropped in, edited, reloaded and removed; nothing else notices', async (t) => {
  const folder = await pluginFolder(t);
  let setUps = 0;
  const neighbour = testPlugin('neighbour', {
    setup: (scope) => {
      setUps += 1;
      scope.route(publicRoute('/neighbour', () => 'here'));
    },
  });
  await using gateway = await startTestGateway({ plugins: [neighbour], pluginFolders: [folder.path] });
  await writeFile(path.join(gateway.folder, 'agents.d', 'weather.yaml'), PRESET);
  await until(() => {
    const { files } = gateway.gateway.services.resources.report();
    return files[0]?.documents[0]?.status === 'waiting';
  });

  await writePlugin({ name: 'weather', dir: folder.path, features: chosenFeatures(undefined) });
  await until(() => stateOf(gateway) === 'active');
  const added = await post(gateway, { preset: 'sky' });
  t.deepEqual([added.status, added.body.text], [201, 'Cloudy']);
  const weather = gateway.grpc({
    proto: new URL(`file://${folder.path}/weather/proto/weather.proto`),
    service: 'svc.weather.v1.WeatherService',
  });
  const answer = await weather.call('GetItem', { id: added.body.id });
  t.deepEqual([answer.code, answer.message?.item?.text], ['OK', 'Cloudy']);
  t.deepEqual((await weather.call('GetItem', { id: '' })).code, 'INVALID_ARGUMENT');
  t.deepEqual(
    (await weather.call('GetItem', { id: added.body.id }, { token: null })).code,
    'UNAUTHENTICATED',
  );

  const routes = path.join(folder.path, 'weather', 'routes', 'items.ts');
  const methods = path.join(folder.path, 'weather', 'grpc', 'items.ts');
  for (const [file, from, to] of [
    [routes, 'return { id, text, created_at', 'return { id, text: text.concat("!"), created_at'],
    [methods, 'item: { id, text,', 'item: { id, text: text.concat("?"),'],
  ] as const) {
    const text = await readFile(file, 'utf8');
    t.true(text.includes(from), file);
    await writeFile(file, text.replace(from, to));
  }
  t.is((await gateway.request('/admin/v1/plugins/weather/reload', { method: 'POST' })).status, 200);
  t.is((await post(gateway, { preset: 'sky' })).body.text, 'Cloudy!');
  t.is((await weather.call('GetItem', { id: added.body.id })).message?.item?.text, 'Cloudy?');

  await writeFile(path.join(gateway.folder, 'agents.d', 'weather.yaml'), PRESET.replace('Cloudy', 'Clear'));
  await until(async () => gateway.logs().some((line) => line.includes('weather.yaml')));
  await until(async () => (await post(gateway, { preset: 'sky' })).body.text === 'Clear!');

  await folder.remove('weather');
  await until(() => gateway.gateway.host.slots.find('weather') === undefined);
  t.is((await post(gateway, { text: 'gone' })).status, 404);
  t.is((await weather.call('GetItem', { id: added.body.id })).code, 'UNIMPLEMENTED');
  t.is((await gateway.request('/neighbour')).status, 200);
  t.is(setUps, 1);
});

test('two plugins with one gRPC service or one YAML kind: the later one is refused, and both are named', async (t) => {
  const folder = await pluginFolder(t);
  await writePlugin({ name: 'weather', dir: folder.path, features: chosenFeatures(undefined) });
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  for (const [name, from, to] of [
    ['copied-kind', 'scope.grpc(itemMethods(items));', ''],
    ['copied-service', 'scope.kind(presetKind)', '({ get: (): string | undefined => undefined })'],
  ] as const) {
    await writePlugin({ name, dir: folder.path, features: chosenFeatures(undefined) });
    const other = path.join(folder.path, name);
    // The other one's kind and service, in a plugin with a name, tables and routes of its own.
    for (const [file, own, theirs] of [
      ['kinds/preset.ts', /kind: '\w+'/, "kind: 'WeatherPreset'"],
      ['grpc/items.ts', /service: '[\w.]+'/, "service: 'svc.weather.v1.WeatherService'"],
      ['grpc/items.ts', /'\.\.\/proto\/\w+\.proto'/, "'../../weather/proto/weather.proto'"],
    ] as const) {
      const text = await readFile(path.join(other, file), 'utf8');
      await writeFile(path.join(other, file), text.replace(own, theirs));
    }
    const plugin = path.join(other, 'plugin.ts');
    await writeFile(plugin, (await readFile(plugin, 'utf8')).replace(from, to));
    await gateway.request(`/admin/v1/plugins/${name}/reload`, { method: 'POST' });
    await until(() => gateway.gateway.host.slots.find(name)?.status.state === 'failed');
    const { reason } = (await gateway.request(`/admin/v1/plugins/${name}`)).body;
    t.regex(reason, /Weather/);
    t.regex(reason, /\bweather\b/);
    t.regex(reason, new RegExp(name));
  }
  t.is((await post(gateway, { text: 'still here' })).status, 201);
});
