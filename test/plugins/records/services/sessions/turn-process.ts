import pino from 'pino';
import { systemClock as clock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { openDatabase, writes } from '../../../../../foundation/data/database.ts';
import { openLeases } from '../../../../../foundation/leases/open-leases.ts';
import { createMetricRegistry } from '../../../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../../../foundation/observability/plugin-metrics.ts';
import { createTurns } from '../../../../../plugins/records/services/sessions/turns.ts';
import { sessionIndexes, sessions } from '../../../../../plugins/records/store/migrations.ts';
import { Session, SessionMessageEntity } from '../../../../../plugins/records/store/sessions.ts';
import { wanted } from './turn-replicas.ts';

/*
 * A process that has begun a turn of the session `killed`, and says so. It stays there until it is killed. Arguments:
 * driver, URL of the database.
 */
const [driver, url] = process.argv.slice(2) as ['postgres' | 'mysql', string];
const log = pino({ level: 'silent' });
const database = await openDatabase({ driver, url, log, clock });
await database.register({
  owner: 'agent-engine',
  entities: [Session, SessionMessageEntity],
  migrations: [sessions, sessionIndexes],
});
const common = { redis: undefined, prefix: 'unused', database, clock, ids: createIds(clock), log };
const leases = await openLeases({
  ...common,
  metrics: createPluginMetrics(createMetricRegistry(), 'kernel'),
});
const metering = { write: () => writes.insert(SessionMessageEntity, []) };
const turns = createTurns({
  ...common,
  leases,
  metering,
  durableEvents: { hasSubscribers: () => false, writes: () => [] },
});
const turn = await turns.begin(wanted({ sessionId: 'killed', maxSessions: 1 }));
setInterval(() => {}, 60_000);
process.stdout.write(`inside the turn of ${turn.sessionId}\n`);
