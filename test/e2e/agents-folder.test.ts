import path from 'node:path';
import test from 'ava';
import { startTestGateway } from '../../kernel/testing/index.ts';

test('the resources that come with the gateway are live from the start, and nothing is told as waiting before', async (t) => {
  const folder = path.resolve(import.meta.dirname, '../../agents.d');
  await using gateway = await startTestGateway({ env: { SVC_AGENTS_DIR: folder } });
  const { body } = await gateway.request('/v1/models');
  t.true(body.data.some(({ id }: { id: string }) => id === 'helper'));
  const warnings = gateway.logs().filter((line) => /"level":"(warn|error)"/.test(line));
  t.deepEqual(warnings, []);
});
