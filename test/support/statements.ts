import { CompiledQuery, type DatabaseConnection, type QueryExecutor } from 'kysely';
import type { Database } from '../../foundation/data/database.ts';

/** The statements that a database is sent. */
export interface StatementRecord {
  /** What was sent since the last call, in order. */
  take(): readonly CompiledQuery[];
  /** Runs a statement as the gateway runs its own, without recording it. */
  run(query: CompiledQuery): Promise<readonly Record<string, unknown>[]>;
}

/**
 * Records what an open database is sent from now on, with the values of each statement, by its own connections:
 * transactions and the ORM's statements too.
 */
export function recordStatements(database: Pick<Database, 'system'>): StatementRecord {
  const client = database.system().getConnection().getClient();
  const executor: QueryExecutor = client.getExecutor();
  const provide = executor.provideConnection.bind(executor);
  let sent: CompiledQuery[] = [];
  let isRecording = true;
  executor.provideConnection = (consume) =>
    provide((connection) =>
      consume(
        new Proxy(connection, {
          get(target, name) {
            if (name !== 'executeQuery') {
              const value = Reflect.get(target, name);
              return typeof value === 'function' ? value.bind(target) : value;
            }
            return (query: CompiledQuery) => {
              if (isRecording) sent.push(query);
              return target.executeQuery(query);
            };
          },
        }) satisfies DatabaseConnection,
      ),
    );
  return {
    take() {
      const taken = sent;
      sent = [];
      return taken;
    },
    async run({ sql, parameters }) {
      isRecording = false;
      try {
        const { rows } = await client.executeQuery<Record<string, unknown>>(
          CompiledQuery.raw(sql, [...parameters]),
        );
        return rows;
      } finally {
        isRecording = true;
      }
    },
  };
}
