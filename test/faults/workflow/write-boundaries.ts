import { type CompiledQuery, MysqlDriver, PostgresDriver, type QueryResult, SqliteDriver } from 'kysely';
import { FusedStatements } from '../../../foundation/data/drivers/joining-client.ts';
import type { RowWrite } from '../../../foundation/data/rows/row-writes.ts';
import { TenantEntityManager } from '../../../foundation/data/tenant-entity-manager.ts';
import { assertOutsideTransaction } from '../../../foundation/data/transaction-guard.ts';

/** A run that is to stand still at one of its boundaries. */
export interface Stop {
  /** Text that the input of the run holds, and of no other. */
  readonly marker: string;
  /** Of a run that is there already. */
  readonly runId?: string | undefined;
  /** At which boundary, from 1; 0: at none, they are only counted. */
  readonly at: number;
}

interface Watched extends Omit<Stop, 'runId'> {
  readonly met: string[];
  /** Known once the run was written for the first time. */
  runId: string | undefined;
}

interface Connection {
  executeQuery(query: CompiledQuery, ...rest: unknown[]): Promise<QueryResult<unknown>>;
}

const TABLES = 'runs|steps|events|starts|outbox';
const WRITES_RUN = new RegExp(
  `\\b(?:insert into|update|delete from)\\s+["\`]?workflow_(?:${TABLES})\\b`,
  'i',
);
const WRITES = /^\s*(?:with|insert|update|delete)\b/i;
const BEGINS = /^(?:begin|start transaction)\b/i;
const ENDS = /^(commit|rollback)$/i;
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** The id is the first value of a new run, in the text or beside it. */
const NEW_RUNS = new RegExp(
  `insert into\\s+["\`]?workflow_runs\\b.*?values\\s*\\(\\s*(?:'(${UUID})'|\\?)`,
  'gis',
);

/**
 * Lets every connection of the process stop at the boundaries of writes of runs: before each write and before and after
 * each commit. After a write inside a transaction nothing is seen outside that is not seen before the next one. While a
 * run stands still it neither sends the statement nor sees the answer; what else the process does goes on.
 *
 * @param standing called with the boundary that was asked for; it goes on, or fails there, when the promise settles
 */
export function watchBoundaries(standing: (marker: string, boundary: string) => Promise<void>) {
  const stops: Watched[] = [];
  const transactions = new WeakMap<Connection, Set<Watched>>();

  /** The runs that a statement writes, of those that are watched. */
  function runsOf(connection: Connection, sql: string, parameters: readonly unknown[]): Iterable<Watched> {
    const transaction = transactions.get(connection) ?? new Set();
    if (WRITES_RUN.test(sql)) {
      const texts = [sql, ...parameters.map(String)];
      for (const [, id] of sql.matchAll(NEW_RUNS)) {
        const isOf = ({ marker }: Watched) => texts.some((text) => text.includes(marker));
        const begun = stops.find((stop) => stop.runId === undefined && isOf(stop));
        if (begun !== undefined) begun.runId = id ?? String(parameters[0]);
      }
      const mentions = ({ runId }: Watched) =>
        runId !== undefined && texts.some((text) => text.includes(runId));
      const found = stops.filter(mentions);
      for (const run of found) transaction.add(run);
      return found.length > 0 ? found : [...transaction];
    }
    // What commits together with runs is part of them; the end of the transaction too.
    return WRITES.test(sql) || ENDS.test(sql) ? [...transaction] : [];
  }

  async function meet(run: Watched, boundary: string): Promise<void> {
    run.met.push(boundary);
    if (run.met.length !== run.at) return;
    await standing(run.marker, `${run.at}: ${boundary}`);
  }

  async function execute(
    connection: Connection,
    query: CompiledQuery,
    send: () => Promise<QueryResult<unknown>>,
  ) {
    const { sql, parameters } = textOf(query);
    const runs = [...runsOf(connection, sql, parameters)];
    if (BEGINS.test(sql)) transactions.set(connection, new Set());
    const isInside = transactions.has(connection);
    const isEnd = ENDS.test(sql);
    const label = labelOf(sql);
    for (const run of runs) await meet(run, `before ${label}`);
    if (isEnd) transactions.delete(connection);
    const result = await send();
    if (isEnd || !isInside) for (const run of runs) await meet(run, `after ${label}`);
    return result;
  }

  const watched = new WeakSet<object>();
  function watch<C extends Connection>(connection: C): C {
    if (watched.has(connection)) return connection;
    watched.add(connection);
    const send = connection.executeQuery.bind(connection);
    connection.executeQuery = (query, ...rest) => execute(connection, query, () => send(query, ...rest));
    return connection;
  }

  let hasSqlite = false;
  for (const { prototype } of [SqliteDriver, PostgresDriver, MysqlDriver] as unknown as DriverClass[]) {
    const acquire = prototype.acquireConnection;
    prototype.acquireConnection = async function (...rest) {
      hasSqlite ||= this instanceof SqliteDriver;
      return watch(await acquire.apply(this, rest));
    };
  }

  /*
   * On SQLite several writes are one transaction that runs without waiting in between: nothing can stand still inside,
   * and the statements are seen by no driver. Its boundaries are its beginning and its end.
   */
  const { writeTogether } = TenantEntityManager.prototype;
  TenantEntityManager.prototype.writeTogether = async function (writes, options) {
    const isShared = options?.shareAs !== undefined;
    if (!hasSqlite || isShared || isInTransaction()) {
      return writeTogether.call(this, writes, options);
    }
    const runs = runsOfWrites(writes);
    const label = writes.map((write) => `${write.kind} ${tableOf(write)}`).join(', ');
    for (const run of runs) await meet(run, `before ${label}`);
    const isStored = await writeTogether.call(this, writes, options);
    for (const run of runs) await meet(run, `after ${label}`);
    return isStored;
  };

  function runsOfWrites(writes: readonly RowWrite[]): readonly Watched[] {
    if (!writes.some((write) => OF_RUNS.test(tableOf(write)))) return [];
    const text = JSON.stringify(writes.map((write) => ({ ...write, entity: undefined })));
    for (const write of writes) {
      if (write.kind !== 'insert' || !/_runs$/.test(tableOf(write))) continue;
      for (const row of write.rows) {
        const isOf = ({ runId, marker }: Watched) =>
          runId === undefined && JSON.stringify(row).includes(marker);
        const begun = stops.find(isOf);
        if (begun !== undefined) begun.runId = String(row.id);
      }
    }
    return stops.filter(({ runId }) => runId !== undefined && text.includes(runId));
  }

  return {
    stop(stop: Stop): void {
      stops.push({ ...stop, met: [], runId: stop.runId });
    },
    /** The boundaries that a run has met so far. */
    met: (marker: string): readonly string[] => stops.findLast((stop) => stop.marker === marker)?.met ?? [],
  };
}

const OF_RUNS = new RegExp(`^workflow_(?:${TABLES})$`);

function tableOf({ entity }: RowWrite): string {
  return (entity as { readonly meta?: { readonly tableName?: string } }).meta?.tableName ?? '';
}

function isInTransaction(): boolean {
  try {
    assertOutsideTransaction('a look');
    return false;
  } catch {
    return true;
  }
}

interface DriverClass {
  readonly prototype: { acquireConnection(...rest: unknown[]): Promise<Connection> };
}

/** The words of a query, also of one that has them apart. */
function textOf({ sql, parameters }: CompiledQuery): Pick<CompiledQuery, 'sql' | 'parameters'> {
  const [fused] = parameters;
  if (!(fused instanceof FusedStatements)) return { sql, parameters };
  return { sql: fused.statements.map((statement) => statement.toText()).join('; '), parameters: [] };
}

/** `update workflow_runs, insert into workflow_events` */
function labelOf(sql: string): string {
  if (ENDS.test(sql)) return sql;
  const parts = sql.matchAll(/\b(insert into|update|delete from)\s+["`]?(\w+)/gi);
  return [...parts].map(([, verb, table]) => `${verb} ${table}`).join(', ');
}
