import type { Database } from '../../foundation/data/database.ts';
import type {
  PersonalData,
  PersonalRecord,
  PersonalScope,
} from '../../foundation/protection/personal-data.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { PersonalDataPoint } from '../../kernel/api/points.ts';
import { testPlugin } from './plugins.ts';

/** A record of an export, with its section. */
export interface Exported {
  readonly section: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into records of every shape
  readonly record: any;
}

const NEVER = new AbortController().signal;

/** All that a contribution exports, with nested records. */
export async function exportedBy(
  data: PersonalData,
  scope: PersonalScope,
  signal = NEVER,
): Promise<readonly Exported[]> {
  const exported: Exported[] = [];
  for (const section of data.sections) {
    for await (const record of section.read({ ...scope, signal })) {
      if (signal.aborted) break;
      exported.push({ section: section.name, record: await whole(record) });
    }
  }
  return exported;
}

async function whole(record: PersonalRecord): Promise<object> {
  const members = Object.entries(record).map(async ([name, value]) => {
    if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return [name, value];
    const items: object[] = [];
    for await (const item of value as AsyncIterable<PersonalRecord>) items.push(await whole(item));
    return [name, items];
  });
  return Object.fromEntries(await Promise.all(members));
}

/** Erases what a contribution keeps, as the routes do. */
export function eraseFrom(
  database: Pick<Database, 'forTenant'>,
  data: PersonalData,
  { tenantId, userId }: PersonalScope,
): Promise<Readonly<Record<string, number>>> {
  return database
    .forTenant(tenantId)
    .transaction((entities) => data.erase(entities, { userId, pseudonym: 'erased-by-test' }));
}

/** A plugin that reads what others contribute. */
export function readerPlugin(): { readonly plugin: Plugin; contribution(name: string): PersonalData } {
  let contributed: () => readonly PersonalData[] = () => [];
  const plugin = testPlugin('reader', {
    points: [PersonalDataPoint],
    setup(scope) {
      contributed = scope.contributions(PersonalDataPoint);
    },
  });
  const contribution = (wanted: string) => {
    const found = contributed().find(({ name }) => name === wanted);
    if (found === undefined) throw new Error(`nobody contributes ${wanted}`);
    return found;
  };
  return { plugin, contribution };
}
