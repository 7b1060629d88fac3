import pino from 'pino';
import { systemClock as clock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { openDatabase } from '../../../../../foundation/data/database.ts';
import { openLeases } from '../../../../../foundation/leases/open-leases.ts';
import { createMetricRegistry } from '../../../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../../../foundation/observability/plugin-metrics.ts';
import { createTurns } from '../../../../../plugins/records/services/sessions/turns.ts';
import { sessions } from '../../../../../plugins/records/store/migrations.ts';
import { Session, SessionMessageEntity } from '../../../../../plugins/records/store/sessions.ts';
import { outcome, wanted } from './turn-replicas.ts';

/*
 * A process that commits a turn of the session `killed`, and says so when session and messages are written, but not yet committed. It stays
 * there until it is killed. Arguments: driver, URL of the database.
 */
const [driver, url] = process.argv.slice(2) as ['postgres' | 'mysql', string];
const log = pino({ level: 'silent' });
const database = await openDatabase({ driver, url, log, clock });
await database.register({
  owner: 'agent-engine',
  entities: [Session, SessionMessageEntity],
  migrations: [sessions],
});
const common = { redis: undefined, prefix: 'unused', database, clock, ids: createIds(clock), log };
const leases = await openLeases({
  ...common,
  metrics: createPluginMetrics(createMetricRegistry(), 'kernel'),
});
const turns = createTurns({ ...common, leases, metering: { record: async () => {} } });
const turn = await turns.begin(wanted({ sessionId: 'killed', maxSessions: 1 }));
setInterval(() => {}, 60_000);
await turn.commit(
  outcome('half', 'stored', {
    also: () => {
      process.stdout.write('inside the commit\n');
      return new Promise(() => {});
    },
  }),
);
