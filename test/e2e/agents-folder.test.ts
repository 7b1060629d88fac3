import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { startTestGateway } from '../../testing/index.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { until } from '../support/until.ts';

test('the resources that come with the gateway are live from the start, and nothing is told as waiting before', async (t) => {
  const folder = path.resolve(import.meta.dirname, '../../agents.d');
  await using gateway = await startTestGateway({ env: { SVC_AGENTS_DIR: folder } });
  const { body } = await gateway.request('/v1/models');
  t.true(body.data.some(({ id }: { id: string }) => id === 'helper'));
  // Of the folder alone: a busy machine is told in other warnings.
  const warnings = gateway
    .logs()
    .filter((line) => /"level":"(warn|error)"/.test(line) && line.includes(JSON.stringify(folder)));
  t.deepEqual(warnings, []);
});

test('a resource that is broken by an edit is told with its line, and that its last good version stays', async (t) => {
  const gateway = await startPlatform(t);
  const file = path.join(gateway.folder, 'agents.d', 'mine.yaml');
  const yaml = (provider: string) =>
    `apiVersion: svc/v1\nkind: Model\nmetadata: {name: mine}\nspec: {provider: ${provider}, model: m}\n`;
  const names = async () =>
    (await gateway.request('/v1/models')).body.data.map(({ id }: { id: string }) => id);
  const told = (words: string) => until(() => gateway.logs().some((line) => line.includes(words)));
  await writeFile(file, yaml('demo'));
  await told('resources were loaded');
  await writeFile(file, yaml('dmo'));
  await told('a resource is not valid; its last good version stays');
  t.true(gateway.logs().some((line) => line.includes('mine.yaml:4: /spec/provider')));
  t.true((await names()).includes('mine'));
});

test('what is not live of the folder is in the metrics', async (t) => {
  const gateway = await startPlatform(t);
  const told = async () => {
    const { body } = await gateway.request('/metrics');
    return String(body).match(/^svc_resource.*$/gm);
  };
  t.deepEqual(await told(), ['svc_resource_files_failed 0', 'svc_resources_waiting 0']);
  const write = (file: string, kind: string, provider: string) =>
    writeFile(
      path.join(gateway.folder, 'agents.d', file),
      `apiVersion: svc/v1\nkind: ${kind}\nmetadata: {name: mine}\nspec: {provider: ${provider}, model: m}\n`,
    );
  await write('broken.yaml', 'Model', 'dmo');
  await write('misspelled.yaml', 'Modle', 'demo');
  await until(async () => (await told())?.join() === 'svc_resource_files_failed 2,svc_resources_waiting 1');
  t.pass();
});
