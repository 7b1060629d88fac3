import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { startTestGateway } from '../../testing/index.ts';
import { until } from '../support/until.ts';

test('the resources that come with the gateway are live from the start, and nothing is told as waiting before', async (t) => {
  const folder = path.resolve(import.meta.dirname, '../../agents.d');
  await using gateway = await startTestGateway({ env: { SVC_AGENTS_DIR: folder } });
  const { body } = await gateway.request('/v1/models');
  t.true(body.data.some(({ id }: { id: string }) => id === 'helper'));
  const warnings = gateway.logs().filter((line) => /"level":"(warn|error)"/.test(line));
  t.deepEqual(warnings, []);
});

test('a resource that is broken by an edit is told with its line, and that its last good version stays', async (t) => {
  await using gateway = await startTestGateway();
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
