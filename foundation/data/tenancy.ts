import {
  type EntityMetadata,
  type EntitySchema,
  ReferenceKind,
  type RequiredEntityData,
} from '@mikro-orm/core';
import { DatabaseDefect } from './errors.ts';

/**
 * Whose rows an entity holds.
 * - `owned`: each row belongs to the tenant in its `tenantId`.
 * - `self`: the row is the tenant; its primary key is the tenant id. A tenant may read its own row and write none.
 * - `shared`: rows of the whole gateway; only `database.system()` reaches them.
 */
export type Tenancy = 'owned' | 'self' | 'shared';

/** An entity made by `defineEntity`. */
// biome-ignore lint/suspicious/noExplicitAny: entities of all shapes are registered together
export type AnyEntitySchema = EntitySchema<any, any>;

/**
 * An entity as its owner registers it. One with a `tenantId` property is tenant-owned and needs no more words, where
 * its rows are exported and erased with what else is kept about people (`PersonalData`); anything else says what it is.
 *
 * @example
 * entities: [Note, { entity: PriceList, tenancy: 'shared' }, { entity: Quota, impersonal: 'limits of a tenant' }]
 */
export type EntityRegistration =
  | AnyEntitySchema
  | { readonly entity: AnyEntitySchema; readonly tenancy: 'shared' | 'self' }
  | {
      readonly entity: AnyEntitySchema;
      /** Why the rows, which belong to tenants, hold nothing of persons: in words, for reviewers. */
      readonly impersonal: string;
    };

/** An entity and the property by which its rows belong to a tenant (`undefined`: to none). */
export interface TenantRule {
  readonly tenancy: Tenancy;
  readonly property: string | undefined;
  /** Its owner says that the rows hold nothing of persons. */
  readonly isImpersonal: boolean;
}

/** The property that makes an entity tenant-owned. */
export const TENANT_PROPERTY = 'tenantId';
/** The name of MikroORM's filter that binds an entity manager to a tenant. */
export const TENANT_FILTER = 'tenant';

/** The rules of all entities of one database, by entity name. */
export class Tenancies {
  readonly #rules = new Map<string, TenantRule>();

  set(name: string, rule: TenantRule): void {
    this.#rules.set(name, rule);
  }

  delete(name: string): void {
    this.#rules.delete(name);
  }

  /** The rule of a registered entity. Throws for any other. */
  get(name: string): TenantRule {
    const rule = this.#rules.get(name);
    if (rule !== undefined) return rule;
    throw new DatabaseDefect('not-registered', `${name} is not registered: list it in its owner's entities`);
  }

  /** The rule and tenant property of an entity that belongs to tenants. Throws for a shared one. */
  tenantProperty(name: string): string {
    const { property } = this.get(name);
    if (property !== undefined) return property;
    throw new DatabaseDefect(
      'not-tenant-owned',
      `${name} belongs to no tenant; only database.system() reaches it`,
    );
  }

  /** The same, for writing. Throws for a record that is the tenant itself. */
  assertWritable(name: string): void {
    this.tenantProperty(name);
    if (this.get(name).tenancy === 'owned') return;
    throw new DatabaseDefect(
      'read-only',
      `${name} is the tenant's own record; only database.system() writes it`,
    );
  }
}

/** What a registration says. */
export interface DeclaredEntity {
  readonly entity: AnyEntitySchema;
  readonly declared?: Tenancy;
  readonly impersonal?: string;
}

/** The schema of a registration, and what is declared about it. */
export function unwrap(registration: EntityRegistration): DeclaredEntity {
  if (!('entity' in registration)) return { entity: registration };
  if ('tenancy' in registration) return { entity: registration.entity, declared: registration.tenancy };
  const { entity, impersonal } = registration;
  if (impersonal.trim() === '')
    refuse(`${entity.meta.className}: "impersonal" says why the rows hold nothing of persons, in words.`);
  return { entity, impersonal };
}

/** Decides the rule of an entity, or throws with what its owner has to do. */
export function tenantRule(
  meta: EntityMetadata,
  { declared, impersonal }: Omit<DeclaredEntity, 'entity'>,
): TenantRule {
  const name = meta.className;
  const tenant = meta.properties[TENANT_PROPERTY];
  const isImpersonal = impersonal !== undefined;
  if (declared === 'shared') return { tenancy: 'shared', property: undefined, isImpersonal };
  if (declared === 'self') return { tenancy: 'self', property: meta.primaryKeys[0], isImpersonal };
  if (tenant === undefined) {
    refuse(
      `${name} has no ${TENANT_PROPERTY}. Give it one (\`tenantId: column.tenant()\`), or register it as { entity: ${name}, tenancy: 'shared' } if its rows belong to no tenant.`,
    );
  }
  if (tenant.fieldNames?.[0] !== 'tenant_id' || tenant.nullable === true) {
    refuse(`${name}.${TENANT_PROPERTY} must be \`column.tenant()\` in the column tenant_id, not nullable.`);
  }
  return { tenancy: 'owned', property: TENANT_PROPERTY, isImpersonal };
}

/**
 * Refuses relations of a kind that cannot be. Before the ORM learns the entity: it would write the other end of the
 * relation into an entity that may be another owner's, where it stays.
 */
export function checkKinds({ meta }: AnyEntitySchema): void {
  for (const [name, { kind }] of Object.entries<{ kind?: ReferenceKind }>(meta.properties)) {
    if (kind !== ReferenceKind.MANY_TO_MANY) continue;
    refuse(
      `${meta.className}.${name} is many-to-many, and its pivot table has no tenant. Make the pivot an entity with a ${TENANT_PROPERTY}.`,
    );
  }
}

/** Refuses relations through which a tenant could reach rows that are not its own. */
export function checkRelations(meta: EntityMetadata, tenancies: Tenancies): void {
  if (tenancies.get(meta.className).tenancy !== 'owned') return;
  for (const relation of meta.relations) {
    const name = `${meta.className}.${relation.name}`;
    const target = relation.targetMeta?.className;
    if (target !== undefined && tenancies.get(target).tenancy === 'owned') continue;
    refuse(
      `${name} leads to ${target ?? 'nothing'}, which is not tenant-owned. Keep its id in a plain column instead.`,
    );
  }
}

function refuse(message: string): never {
  throw new DatabaseDefect('registration', message);
}

/** A row to be written; the tenant is added automatically. */
export type TenantData<E> = Omit<RequiredEntityData<E>, typeof TENANT_PROPERTY> & {
  [TENANT_PROPERTY]?: string;
};
