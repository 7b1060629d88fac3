import { field, Type } from 'agent-gateway';
import type { Static } from 'typebox';

/** Settings of the records plugin. */
export const RecordsConfig = Type.Object({
  retention: field.list({
    env: 'SVC_RETENTION',
    default: [],
    description:
      'How long records are kept, for tenants that have no rule of their own: `sessions=90d,workflow_runs=400d`; `forever` keeps them',
  }),
  retention_interval: field.duration({
    env: 'SVC_RETENTION_INTERVAL',
    default: '1h',
    min: '100ms',
    max: '500h',
    description:
      'How often records whose time is over are deleted and all are counted; one replica at a time does it',
  }),
  retention_grace: field.duration({
    env: 'SVC_RETENTION_GRACE',
    default: '24h',
    max: '8760h',
    description: "How long a tenant's new rule waits before it deletes anything",
  }),
});

/** Their values. */
export type RecordsSettings = Static<typeof RecordsConfig>;
