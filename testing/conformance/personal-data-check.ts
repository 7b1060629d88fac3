import { within } from '../../foundation/base/deadline.ts';
import { type AnyEntitySchema, unwrap } from '../../foundation/data/tenancy.ts';
import type {
  PersonalData,
  PersonalRecord,
  PersonalScope,
} from '../../foundation/protection/personal-data.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { PersonalDataPoint } from '../../kernel/api/points.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { Caller } from './caller.ts';
import { withGateway } from './gateway-of.ts';
import { makeData } from './made-data.ts';
import type { SampleTenant } from './options.ts';
import type { Made } from './sample.ts';
import { sampleTenant } from './sample.ts';
import { sampleRow } from './sample-row.ts';
import type { Subject } from './subject.ts';

/** A user to whom nothing belongs. */
const NOBODY = 'nobody-of-the-conformance-suite';
/** Milliseconds that a contribution gets to end what is under way, to read a section, and to erase. */
const HALT_MS = 30_000;
const NAME = /^[a-z][a-z0-9-]{0,63}$/;
const SECTION = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * All tables of the plugin whose rows belong to tenants are in what it contributes about people, or are called
 * impersonal. What is made for one tenant through the plugin's own routes is exported for it and for no other; and an
 * erasure takes each row of the tenant, and none of another.
 */
export async function personalDataCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(subject, async (gateway) => {
    const { plugin } = subject;
    const data = contributed(gateway, plugin);
    const tables = personalTables(plugin);
    const unnamed = [...nameProblems(data), ...uncovered(tables, data)];
    // A table that no contribution names cannot be checked any further.
    if (unnamed.length > 0 || tables.length === 0) return unnamed;
    const owner = await sampleTenant(gateway, 'owner');
    const stranger = await sampleTenant(gateway, 'stranger');
    const caller = new Caller(subject, gateway);
    const made = await makeData(caller, gateway, subject, owner);
    return [
      ...(await exportProblems(gateway, data, { owner, stranger, made })),
      ...(await erasureProblems(gateway, tables, data, [owner, stranger])),
      ...caller.problems,
    ];
  });
}

/** What the plugin contributes. */
function contributed(gateway: TestGateway, plugin: Plugin): readonly PersonalData[] {
  const { contributions = [] } = gateway.gateway.host.slots.find(plugin.name)?.current?.effects ?? {};
  return contributions
    .filter(({ pointId }) => pointId === PersonalDataPoint.id)
    .map(({ value }) => value as PersonalData);
}

/** The plugin's entities whose rows belong to tenants, and may say something of persons. */
function personalTables({ entities = [] }: Plugin): readonly AnyEntitySchema[] {
  return entities
    .map(unwrap)
    .filter(({ declared, impersonal }) => declared === undefined && impersonal === undefined)
    .map(({ entity }) => entity);
}

function nameProblems(data: readonly PersonalData[]): readonly string[] {
  const sections = data.flatMap((one) => one.sections.map(({ name }) => name));
  return [
    ...data
      .filter(({ name }) => !NAME.test(name))
      .map(({ name }) => `the name "${name}" of its personal data is not ${NAME.source}`),
    ...sections
      .filter((name) => !SECTION.test(name))
      .map((name) => `the section "${name}" is not called ${SECTION.source}`),
    ...sections
      .filter((name, at) => sections.indexOf(name) !== at)
      .map((name) => `two sections are called ${name}`),
  ];
}

function uncovered(tables: readonly AnyEntitySchema[], data: readonly PersonalData[]): readonly string[] {
  const covered = new Set(data.flatMap((one) => one.sections.flatMap(({ entities }) => entities)));
  return tables
    .filter((entity) => !covered.has(entity))
    .map(
      ({ meta: { className, tableName } }) =>
        `rows of ${tableName} belong to tenants, and are not exported or erased: contribute to PersonalDataPoint with a section that has ${className}, or register it as { entity: ${className}, impersonal: 'why it holds nothing of persons' }`,
    );
}

async function exportProblems(
  gateway: TestGateway,
  data: readonly PersonalData[],
  {
    owner,
    stranger,
    made,
  }: { readonly owner: SampleTenant; readonly stranger: SampleTenant; readonly made: Made },
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const section of data.flatMap(({ sections }) => sections)) {
    const shown = (scope: PersonalScope) =>
      within(
        HALT_MS,
        `reading the section ${section.name}`,
        whole(section.read({ ...scope, signal: AbortSignal.timeout(HALT_MS) })),
      );
    const rows = await rowsOf(gateway, section.entities, owner);
    const own = await shown({ tenantId: owner.id });
    if (rows > 0 && own.length === 0)
      problems.push(`the section ${section.name} shows nothing, and its tables have ${rows} rows`);
    if (made.occursIn({ body: await shown({ tenantId: stranger.id }) }))
      problems.push(`the section ${section.name} shows a tenant what belongs to another one`);
    if (made.occursIn({ body: await shown({ tenantId: owner.id, userId: NOBODY }) }))
      problems.push(`the section ${section.name} shows a user what is not his`);
  }
  return problems;
}

/** Records with their nested ones, as they would be written. */
async function whole(records: AsyncIterable<PersonalRecord>): Promise<readonly object[]> {
  const shown: object[] = [];
  for await (const record of records) {
    const members: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(record)) {
      const isMany = typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
      members[name] = isMany ? await whole(value as AsyncIterable<PersonalRecord>) : value;
    }
    shown.push(JSON.parse(JSON.stringify(members)));
  }
  return shown;
}

async function erasureProblems(
  gateway: TestGateway,
  tables: readonly AnyEntitySchema[],
  data: readonly PersonalData[],
  [owner, stranger]: readonly [SampleTenant, SampleTenant],
): Promise<readonly string[]> {
  const { database } = gateway.gateway.services;
  const problems: string[] = [];
  const count = ({ id }: SampleTenant, entity: AnyEntitySchema) => database.forTenant(id).count(entity, {});
  const counts = (tenant: SampleTenant) => Promise.all(tables.map((entity) => count(tenant, entity)));
  const erase = async (scope: PersonalScope) => {
    await database.forTenant(scope.tenantId).transaction(async (entities) => {
      for (const one of data) {
        const erasure = { userId: scope.userId, pseudonym: 'erased-by-conformance' };
        const erased = await within(HALT_MS, `the erasure of ${one.name}`, one.erase(entities, erasure));
        const odd = Object.entries(erased).filter(([, of]) => !Number.isSafeInteger(of) || of < 0);
        for (const [kind] of odd) problems.push(`the number of erased ${kind} is no whole number`);
      }
    });
    for (const one of data) one.erased?.(scope);
  };

  // First, while the tables do not yet hold made-up rows.
  for (const one of data) {
    const halted = one.halt?.({ tenantId: owner.id }, AbortSignal.timeout(HALT_MS));
    await within(HALT_MS, `the halt of ${one.name}`, Promise.resolve(halted));
  }
  for (const [tenant, word] of [
    [owner, '4711081501'],
    [stranger, '4711081502'],
  ] as const) {
    for (const entity of tables) {
      const reason = await insertSample(gateway, tenant, entity, word);
      if (reason !== undefined && (await count(tenant, entity)) === 0)
        problems.push(
          `no row can be made for ${entity.meta.tableName}, so whether it is erased cannot be checked; let "seed" make one: ${reason}`,
        );
    }
  }
  const before = { owner: await counts(owner), stranger: await counts(stranger) };
  await erase({ tenantId: owner.id, userId: NOBODY });
  const spared = await counts(owner);
  await erase({ tenantId: owner.id });
  const left = { owner: await counts(owner), stranger: await counts(stranger) };
  for (const [at, { meta }] of tables.entries()) {
    if (spared[at]! < before.owner[at]!)
      problems.push(`an erasure of one user takes rows of ${meta.tableName} that are not his`);
    if (left.owner[at]! > 0) problems.push(`an erasure leaves ${left.owner[at]} rows in ${meta.tableName}`);
    if (left.stranger[at]! < before.stranger[at]!)
      problems.push(`an erasure takes rows of ${meta.tableName} that belong to another tenant`);
  }
  return problems;
}

/** Why no row of samples can be put into the table; `undefined`: it was. */
async function insertSample(
  { gateway }: TestGateway,
  { id }: SampleTenant,
  entity: AnyEntitySchema,
  word: string,
): Promise<string | undefined> {
  try {
    await gateway.services.database.forTenant(id).insert(entity, sampleRow(entity, word));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function rowsOf(
  { gateway }: TestGateway,
  entities: readonly AnyEntitySchema[],
  { id }: SampleTenant,
): Promise<number> {
  const rows = gateway.services.database.forTenant(id);
  const counts = await Promise.all(entities.map((entity) => rows.count(entity, {})));
  return counts.reduce((sum, count) => sum + count, 0);
}
