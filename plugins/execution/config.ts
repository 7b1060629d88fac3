import { field, Type } from 'agent-gateway';
import type { Static } from 'typebox';

/** Settings of the execution server. */
export const ExecutionConfig = Type.Object({
  address: field.address({
    env: 'SVC_SERVER_ADDR',
    unset: 'the gateway’s own address; without the plugin `platform` it is `127.0.0.1:8080`',
    description:
      'Address of `/jobs`, with health and metrics and nothing else of the gateway; it is served on the gateway’s own address as well, unless `SVC_ONE_PORT=false`',
  }),
  backend: field.choice(['sqlite', 'postgres'], {
    env: 'SVC_RUNTIME_BACKEND',
    default: 'sqlite',
    description:
      'Where jobs are kept: `sqlite`, in a database of their own; `postgres`, in that of `DATABASE_URL`, where all replicas find them',
  }),
  sqlite_db: field.string({
    env: 'SVC_SQLITE_DB',
    min: 1,
    unset: 'in memory: jobs are gone with the process, and a day after their end',
    description: 'File of the database of jobs, with the backend `sqlite`',
  }),
});

export type ExecutionSettings = Static<typeof ExecutionConfig>;
