import path from 'node:path';
import test from 'ava';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { eachGatewayDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/gateway-process.ts';

const toldOf = (gateway: TestGateway) =>
  gateway
    .logs()
    .filter((line) => line.includes('OBJECT_STORE_URL'))
    .map((line) => JSON.parse(line));

eachGatewayDatabase(
  test,
  'where replicas may each have a folder of objects of their own, the start says so, until one is named',
  async (t, { family, environment }) => {
    const start = async (env: Readonly<Record<string, string>>) => {
      const gateway = await startTestGateway({ env: { ...environment, ...env }, plugins: [] });
      t.teardown(gateway.stop);
      return gateway;
    };
    const told = toldOf(await start({}));
    t.is(told.length, family === 'sqlite' ? 0 : 1);
    for (const line of told) {
      t.is(line.level, 'warn');
      t.is(path.basename(line.folder), 'objects');
    }
    const named = { OBJECT_STORE_URL: `file:${await temporaryFolder(t)}` };
    t.deepEqual(toldOf(await start(named)), []);
  },
);
