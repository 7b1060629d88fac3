import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { SERVER_FAMILIES } from '../../../../support/databases.ts';
import { outcome, TENANT, turnReplicas, wanted } from './turn-replicas.ts';

const TURN = fileURLToPath(new URL('turn-process.ts', import.meta.url));
const ADMIN = { identityId: 'admin', isAdmin: true };

for (const family of SERVER_FAMILIES) {
  test(`${family}: the session of a process that was killed in its turn goes on within the wait`, async (t) => {
    t.timeout(90_000);
    const opened = await turnReplicas(t, family);
    if (opened === undefined) return;
    const { fresh, replicas } = opened;
    const { turns, sessions, database } = replicas[0]!;
    const child = spawn(process.execPath, [TURN, family, fresh.options.url!], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const [said] = await once(child.stdout, 'data');
    t.is(`${said}`, 'inside the turn of killed\n');
    const waiting = turns.begin(wanted({ sessionId: 'killed', maxSessions: 1 }));
    child.kill('SIGKILL');
    await using turn = await waiting;
    t.true(turn.isNew);
    await turn.commit(outcome());
    const entities = database.forTenant(TENANT);
    t.is((await sessions.get(entities, ADMIN, 'killed')).turns, 1);
    t.is((await sessions.messages(entities, 'killed', { limit: 100 })).total, 2);
  });
}
