import { CompiledQuery } from 'kysely';
import { SEARCHED_RECORDS } from '../../foundation/base/text-search.ts';
import type { Family } from '../../foundation/data/family.ts';
import type { StatementRecord } from './statements.ts';

/** What a plan may do with large tables. */
export interface PlanLimits {
  /** The tables that are large. */
  readonly tables: readonly string[];
  /** Rows that may be sorted, or read and thrown away. */
  readonly rows: number;
  /** Indexes that find so few rows for a key that they may be sorted. */
  readonly selective: readonly string[];
}

/**
 * What is wrong with the plan of a statement that reads: large tables read from end to end, many rows sorted, or read
 * only to be thrown away. On the servers the rows are counted while the statement runs; SQLite tells the shape of a
 * plan alone. Each with the plan; empty where nothing is wrong.
 */
export async function planProblems(
  family: Family,
  record: StatementRecord,
  query: CompiledQuery,
  limits: PlanLimits,
): Promise<readonly string[]> {
  const isSearch = / as searched where | limit 10000$/.test(query.sql);
  const rows = isSearch ? SEARCHED_RECORDS : limits.rows;
  const steps = await READERS[family](record, query, { ...limits, rows });
  const problems = steps.flatMap((step) => step.problems);
  if (problems.length === 0) return [];
  const plan = steps.map(({ text }) => text).join('\n');
  return [`${problems.join('; ')}\n${query.sql}\n${plan}`];
}

/** A step of a plan. */
interface Step {
  readonly text: string;
  readonly problems: readonly string[];
}

type Reader = (record: StatementRecord, query: CompiledQuery, limits: PlanLimits) => Promise<readonly Step[]>;

/** The statement with what explains it before. Of one that writes what it reads, the reading. */
const explained = ({ sql: statement, parameters }: CompiledQuery, how: string) => {
  const sql = statement.replace(/^insert into [^)]*\)\s*(?=select)/, '');
  // On PostgreSQL the settings of the tenant come before, in the same message.
  const start = SETTINGS.exec(sql)?.[0].length ?? 0;
  return CompiledQuery.raw(`${sql.slice(0, start)}${how} ${sql.slice(start)}`, [...parameters]);
};
const SETTINGS = /^(?:set local [^;]*; )*/;

/** True for the number of all rows of a table, which no index knows without counting. */
const countsAll = (sql: string) => /^(?:set local [^;]*; )*select count\(\*\).* where 1 = 1$/.test(sql);

/** True for sums, which read all that they add up. */
const addsUp = (sql: string) => /\bsum\(|count\(distinct/.test(sql);

interface PostgresNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PostgresNode[];
}

const readPostgres: Reader = async (record, query, { tables, rows }) => {
  const [row] = await record.run(explained(query, 'explain (analyze, format json)'));
  const [{ Plan: root }] = (row as { 'QUERY PLAN': [{ Plan: PostgresNode }] })['QUERY PLAN'];
  const steps: Step[] = [];
  const visit = (node: PostgresNode, depth: number) => {
    const kind = node['Node Type'];
    const table = node['Relation Name'] ?? '';
    const isLarge = tables.includes(table);
    const removed = (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops'];
    const read = node['Actual Rows'] * node['Actual Loops'] + removed;
    const entered = (node.Plans ?? []).reduce(
      (sum, child) => sum + child['Actual Rows'] * child['Actual Loops'],
      0,
    );
    const problems = [
      isLarge && kind === 'Seq Scan' && !countsAll(query.sql) && `${table} is read from end to end`,
      isLarge && removed > rows && `${removed} rows of ${table} are read and thrown away`,
      kind === 'Sort' && entered > rows && `${entered} rows are sorted`,
      isLarge && addsUp(query.sql) && read > rows && `${read} rows of ${table} are read for a report`,
    ].filter((problem) => problem !== false);
    const said = [
      kind,
      table,
      node['Index Name'],
      node['Index Cond'],
      `rows ${node['Actual Rows']}`,
      `removed ${removed}`,
    ];
    steps.push({ text: `${'  '.repeat(depth)}${said.filter(Boolean).join(', ')}`, problems });
    for (const child of node.Plans ?? []) visit(child, depth + 1);
  };
  visit(root, 0);
  return steps;
};

const readMySql: Reader = async (record, query, { tables, rows }) => {
  const [row] = await record.run(explained(query, 'analyze format=json'));
  const plan: unknown = JSON.parse(String(Object.values(row ?? {})[0]));
  const isInOrder = / where 1 = 1 order by /.test(query.sql);
  const readings = tablesIn(plan).map(
    ({ table_name, access_type, key, r_rows = 0, r_loops = 1, r_filtered = 100, using_index = false }) => {
      const read = r_rows * r_loops;
      const removed = Math.round(read * (1 - r_filtered / 100));
      const isLarge = tables.includes(tableOf(query.sql, table_name));
      const isWhole = access_type === 'ALL' || (access_type === 'index' && !(isInOrder && using_index));
      const problems = [
        isLarge && isWhole && read > rows && !countsAll(query.sql) && `${table_name} is read from end to end`,
        isLarge && removed > rows && `${removed} rows of ${table_name} are read and thrown away`,
        isLarge && addsUp(query.sql) && read > rows && `${read} rows of ${table_name} are read for a report`,
      ].filter((problem) => problem !== false);
      const said = [
        access_type,
        table_name,
        key,
        using_index && 'index only',
        `rows ${read}`,
        `removed ${removed}`,
      ];
      return { text: said.filter(Boolean).join(', '), problems };
    },
  );
  const sorts = filesortsIn(plan).map((filesort) => {
    const count = sortedRows(filesort);
    return { text: `filesort, rows ${count}`, problems: count > rows ? [`${count} rows are sorted`] : [] };
  });
  return [...readings, ...sorts];
};

/** The filesorts of a part of a plan, however deep. */
function filesortsIn(node: unknown, name = ''): readonly object[] {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.entries(node).flatMap(([member, value]) => filesortsIn(value, member));
  return name === 'filesort' ? [node, ...below] : below;
}

/**
 * Rows that a filesort sorts. Keys that come out of an index alone are not counted. With a limit it puts out no more
 * than that, so what it is given is looked at.
 */
function sortedRows(filesort: { readonly r_limit?: number; readonly r_output_rows?: number }): number {
  if (filesort.r_limit === undefined) return filesort.r_output_rows ?? 0;
  return Math.max(0, ...tablesIn(filesort).map((table) => (table.using_index ? 0 : (table.r_rows ?? 0))));
}

interface MySqlTable {
  readonly table_name: string;
  readonly access_type?: string;
  readonly key?: string;
  readonly r_rows?: number;
  readonly r_loops?: number;
  readonly r_filtered?: number;
  readonly using_index?: boolean;
}

/** The tables of a part of a plan, however deep. */
function tablesIn(node: unknown, name = ''): readonly MySqlTable[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = name === 'table' && 'table_name' in node ? [node as MySqlTable] : [];
  const below = Object.entries(node).flatMap(([member, value]) =>
    tablesIn(value, Array.isArray(node) ? name : member),
  );
  return [...own, ...below];
}

interface SqliteStep {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

const readSqlite: Reader = async (record, query, { tables, selective }) => {
  const { sql } = query;
  const found = (await record.run(explained(query, 'explain query plan'))) as unknown as SqliteStep[];
  const isInOrder = / where 1 = 1 order by /.test(sql);
  return found.map(({ parent, detail }) => {
    const beside = found.filter((step) => step.parent === parent).map((step) => step.detail);
    const [, verb, name = '', index, keys = ''] =
      /^(SCAN|SEARCH) (\S+)(?: EXISTS)?(?: USING (?:COVERING )?INDEX (\S+)(?: \((.*)\))?)?/.exec(detail) ??
      [];
    const table = tableOf(sql, name);
    const isLarge = tables.includes(table);
    const isFree = countsAll(sql) || (isInOrder && index !== undefined);
    // What is sorted at last is the page, whose keys were found before.
    const isBounded = beside.some(
      (step) => step === 'SCAN page' || selective.some((one) => step.includes(one)),
    );
    const problems = [
      isLarge && verb === 'SCAN' && !isFree && `${table} is read from end to end`,
      isLarge &&
        verb === 'SEARCH' &&
        keys.split('=?').length - 1 < equalitiesOf(sql, name) &&
        `${table} is not found by all that is asked for`,
      detail === 'USE TEMP B-TREE FOR ORDER BY' && !isBounded && 'rows are sorted',
    ].filter((problem) => problem !== false);
    return { text: detail, problems };
  });
};

/** The table behind a name in a statement. */
function tableOf(sql: string, name: string): string {
  return new RegExp(`(\\w+)\\W? as \\W?${name}\\b`).exec(sql)?.[1] ?? name;
}

/** How many columns of a table, by its name in the statement, have to be equal to something. */
function equalitiesOf(sql: string, name: string): number {
  const ofAlias = sql.match(new RegExp(`\\b${name}\\W?\\.\\W?\\w+\\W? = `, 'g'))?.length;
  if (ofAlias !== undefined) return ofAlias;
  const where = / where ((?:(?! where ).)*?)(?: order by | group by |$)/s.exec(sql)?.[1] ?? '';
  return where.split(/ = (?:\?|\$)/).length - 1;
}

const READERS: Readonly<Record<Family, Reader>> = {
  sqlite: readSqlite,
  postgres: readPostgres,
  mysql: readMySql,
};
