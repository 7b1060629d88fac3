import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { pluginFolder } from '../support/plugin-folder.ts';
import { until } from '../support/until.ts';

/** Notes the beginning and the end of each run, and takes long enough for another one to be seen beside it. */
const acme = (file: string) => `
  import { appendFileSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { definePlugin } from 'agent-gateway';
  const note = (what) => appendFileSync(${JSON.stringify(file)}, what + ' ' + process.pid + '\\n');
  export default definePlugin({
    name: 'acme', summary: 's', kernel: '^1.0.0',
    setup(scope) {
      scope.every('once', 3_600_000, async () => note('once'), { replicas: 'one', immediately: true });
      scope.every('often', 100, async () => { note('begin'); await setTimeout(40); note('end'); }, { replicas: 'one' });
    },
  });`;

test('of two processes over one SQLite file one runs a task of one replica, and the other goes on when that is killed', async (t) => {
  t.timeout(180_000);
  const folder = await temporaryFolder(t);
  const plugins = await pluginFolder(t);
  const file = path.join(folder, 'runs');
  await writeFile(file, '');
  await plugins.drop('acme', { 'plugin.ts': acme(file) });
  const env = {
    DATABASE_URL: `sqlite:${path.join(folder, 'shared.db')}`,
    SVC_PLUGIN_DIRS: plugins.path,
    SVC_PLUGINS: 'acme',
  };
  const both = await Promise.all(
    [1, 2].map(async () => startGatewayProcess(t, await temporaryFolder(t), env)),
  );
  const lines = async () =>
    (await readFile(file, 'utf8')).split('\n').map((line) => line.split(' ') as [string, string?]);
  const of = async (what: string) => (await lines()).filter(([noted]) => noted === what);

  await until(async () => (await of('end')).length >= 20, 60_000);
  const noted = (await lines()).filter(([what]) => what === 'begin' || what === 'end');
  for (let index = 0; index + 1 < noted.length; index += 2) {
    const pid = noted[index]![1];
    t.deepEqual(
      noted.slice(index, index + 2),
      [
        ['begin', pid],
        ['end', pid],
      ],
      `run ${index / 2}`,
    );
  }
  t.is((await of('once')).length, 1);

  const last = Number(noted.at(-1)![1]);
  const [killed, left] = both[0]!.pid === last ? both : both.toReversed();
  await killed!.stop('SIGKILL');
  const before = (await of('end')).length;
  await until(async () => (await of('end')).length >= before + 3, 60_000);
  t.is(Number((await of('end')).at(-1)![1]), left!.pid);
  t.is((await of('once')).length, 1);
});
