import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { createSecrets } from '../../../foundation/secrets/secrets.ts';

// Alone: it counts turns of the event loop, and other tests would make each of them long.
test('a folder that is swapped while a secret is read makes no difference, whenever that happens', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'secrets-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const secrets = createSecrets({ env: {}, folder, tenantMayName: ['file:*'], onResolved: () => undefined });
  let version = 0;
  const swap = () => {
    version += 1;
    mkdirSync(path.join(folder, `..${version}`));
    writeFileSync(path.join(folder, `..${version}`, 'token'), `token-${version}`);
    symlinkSync(`..${version}`, path.join(folder, '..tmp'));
    renameSync(path.join(folder, '..tmp'), path.join(folder, '..data'));
    rmSync(path.join(folder, `..${version - 1}`), { recursive: true, force: true });
  };
  swap();
  await symlink('..data/token', path.join(folder, 'token'));
  for (let round = 0; round < 300; round += 1) {
    let isRead = false;
    const read = secrets.resolve('file:token', 'tenant').finally(() => {
      isRead = true;
    });
    // At another step of the reading in each round.
    for (let turn = 0; turn < round % 60 && !isRead; turn += 1) await nextTurn();
    swap();
    t.regex(await read, /^token-\d+$/);
  }
});
