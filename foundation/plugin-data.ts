import type { Database, OwnedData } from './data/database.ts';

/**
 * What a plugin has stored, under its name and those that it had before. What it keeps in the object store is not known
 * here.
 */
export interface PluginData extends OwnedData {
  /** Rows by the kernel's table in which they are; without those of which there are none. */
  readonly kernelRows: ReadonlyMap<string, number>;
  /** Jobs in hand and leases that are held at this moment: a replica works for it. */
  readonly atWork: number;
}

/** How the kernel's tables name a plugin: by texts that begin so. */
const KERNEL_ROWS: readonly {
  readonly table: string;
  readonly column: string;
  readonly begins: (name: string) => readonly string[];
}[] = [
  // Before the jobs: while there is a subscription, events become new ones.
  { table: 'kernel_subscriptions', column: 'queue', begins: (name) => [`${name}.`] },
  { table: 'kernel_jobs', column: 'queue', begins: (name) => [`${name}.`] },
  { table: 'kernel_schedules', column: 'name', begins: (name) => [`${name}.`] },
  { table: 'kernel_leases', column: 'lease_key', begins: leaseKeys },
  { table: 'kernel_lease_tickets', column: 'lease_key', begins: leaseKeys },
];

function leaseKeys(name: string): readonly string[] {
  return [`${name}.`, `${name}:`, `schedule:${name}.`];
}

/** Reads what a plugin has stored; changes nothing. `name` is a plugin's: letters, digits and `-`. */
export async function pluginData(database: Database, name: string): Promise<PluginData> {
  const owned = await database.ownedData(name);
  const now = await database.now();
  const kernelRows = new Map<string, number>();
  let atWork = 0;
  for (const { table, where, values } of conditions([name, ...owned.formerly])) {
    const count = await countRows(database, `${table} where ${where}`, values);
    if (count > 0) kernelRows.set(table, count);
    const live = LIVE[table];
    if (count === 0 || live === undefined) continue;
    atWork += await countRows(database, `${table} where ${where} and ${live.where}`, [
      ...values,
      now * live.perMillisecond,
    ]);
  }
  return { ...owned, kernelRows, atWork };
}

/** Removes what `pluginData` shows. Again it does the rest. */
export async function removePluginData(database: Database, name: string): Promise<void> {
  const { formerly, kernelRows } = await pluginData(database, name);
  for (const { table, where, values } of conditions([name, ...formerly])) {
    if (kernelRows.has(table)) await database.system().execute(`delete from ${table} where ${where}`, values);
  }
  await database.dropOwner(name);
}

/** What a replica has in hand, with the units of the column. */
const LIVE: Readonly<Record<string, { readonly where: string; readonly perMillisecond: number }>> = {
  kernel_jobs: { where: "state = 'running' and due_at > ?", perMillisecond: 1 },
  kernel_leases: { where: 'name is not null and expires_at > ?', perMillisecond: 1_000 },
};

function conditions(names: readonly string[]) {
  return KERNEL_ROWS.map(({ table, column, begins }) => {
    const values = names.flatMap(begins).map((text) => `${text}%`);
    return { table, where: `(${values.map(() => `${column} like ?`).join(' or ')})`, values };
  });
}

async function countRows(database: Database, from: string, values: readonly unknown[]): Promise<number> {
  try {
    const [row] = await database.system().execute(`select count(*) as count from ${from}`, [...values]);
    return Number(row?.count);
  } catch (error) {
    // No gateway has ever used the database.
    if ((error as Error).name === 'TableNotFoundException') return 0;
    throw error;
  }
}
