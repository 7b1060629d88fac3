import {
  type AnyEntity,
  type ChangeSet,
  ChangeSetType,
  type EntityManager,
  type EntityProperty,
  type EventSubscriber,
  type FlushEventArgs,
  helper,
  ReferenceKind,
  Utils,
} from '@mikro-orm/core';
import { refuseForeign } from './errors.ts';
import { TENANT_FILTER, TENANT_PROPERTY, type Tenancies } from './tenancy.ts';

/** The tenant to which an entity manager is bound, `undefined` for one that sees all. */
export function boundTenant(em: EntityManager): string | undefined {
  const params = em.getFilterParams(TENANT_FILTER) as { [TENANT_PROPERTY]?: string } | undefined;
  return params?.[TENANT_PROPERTY];
}

/** The tenant of an entity as it is in memory. */
export function tenantOf(entity: object): unknown {
  return (entity as Record<string, unknown>)[TENANT_PROPERTY];
}

/**
 * Looks at every change that the flush of a tenant-bound entity manager is about to write: new rows get the tenant, and a
 * row of another tenant, a changed tenant, or a reference to another tenant's row stops the flush before it writes.
 */
export class TenantFlush implements EventSubscriber {
  readonly #tenancies: Tenancies;

  constructor(tenancies: Tenancies) {
    this.#tenancies = tenancies;
  }

  async onFlush({ em, uow }: FlushEventArgs): Promise<void> {
    const tenant = boundTenant(em);
    if (tenant === undefined) return;
    const changes = uow.getChangeSets();
    for (const change of changes) this.#check(change, tenant);
    const references = new References();
    for (const { meta, payload, type } of changes) {
      if (!isDelete(type)) references.add(meta.relations, payload);
    }
    await references.verify(em);
  }

  #check(change: ChangeSet<AnyEntity>, tenant: string): void {
    const { entity, meta, payload, type } = change;
    this.#tenancies.assertWritable(meta.className);
    const now = tenantOf(entity);
    if (type === ChangeSetType.CREATE) {
      if (now !== undefined && now !== null && now !== tenant) refuseForeign(meta.className);
      entity[TENANT_PROPERTY] = tenant;
      (payload as Record<string, unknown>)[TENANT_PROPERTY] = tenant;
      return;
    }
    // What was loaded decides, not only what the property says now.
    if (loadedTenant(entity) !== tenant || now !== tenant) refuseForeign(meta.className);
  }
}

/** The ids, per entity, that rows about to be written refer to. */
export class References {
  readonly #ids = new Map<EntityProperty, Set<unknown>>();

  /** Takes the references of one row; those to entities that are loaded or new in this unit of work are known already. */
  add(relations: readonly EntityProperty[], row: object): void {
    for (const relation of relations) {
      if (relation.kind !== ReferenceKind.MANY_TO_ONE && relation.kind !== ReferenceKind.ONE_TO_ONE) continue;
      if (!relation.owner && relation.kind === ReferenceKind.ONE_TO_ONE) continue;
      const value = (row as Record<string, unknown>)[relation.name];
      if (value === undefined || value === null) continue;
      const ids = this.#ids.get(relation) ?? new Set();
      this.#ids.set(relation, ids.add(value));
    }
  }

  /** Throws unless every id belongs to a row of the tenant of `em`, be it stored already or new in this flush. */
  async verify(em: EntityManager): Promise<void> {
    for (const [relation, ids] of this.#ids) {
      const target = relation.targetMeta;
      if (target === undefined) continue;
      const unknown = [...ids].filter((id) => !isKnown(em, relation, id));
      if (unknown.length === 0) continue;
      const key = target.primaryKeys[0] as string;
      const reader = em.fork({ keepTransactionContext: true });
      const keys = unknown.map((id) => (Utils.isEntity<AnyEntity>(id) ? id[key] : id));
      const found = await reader.count(target.class, { [key]: { $in: keys } } as object);
      if (found !== new Set(keys).size) refuseForeign(target.className);
    }
  }
}

/** True for an entity that this unit of work loaded through the tenant filter, or is about to create. */
function isKnown(em: EntityManager, relation: EntityProperty, value: unknown): boolean {
  const target = relation.targetMeta;
  if (target === undefined) return false;
  const uow = em.getUnitOfWork(false);
  const entity = Utils.isEntity<AnyEntity>(value)
    ? value
    : uow.getById<AnyEntity>(target.class, value as never);
  if (entity !== undefined && loadedTenant(entity) === boundTenant(em)) return true;
  const key = target.primaryKeys[0] as string;
  const id = entity === undefined ? value : entity[key];
  return uow
    .getChangeSets()
    .some(
      ({ type, meta, payload }) =>
        type === ChangeSetType.CREATE && meta.class === target.class && (payload as AnyEntity)[key] === id,
    );
}

/** The tenant that an entity had when it was loaded; a bare reference was never loaded and belongs to nobody yet. */
function loadedTenant(entity: AnyEntity): unknown {
  return (helper(entity).__originalEntityData as AnyEntity | undefined)?.[TENANT_PROPERTY];
}

const isDelete = (type: ChangeSetType) =>
  type === ChangeSetType.DELETE || type === ChangeSetType.DELETE_EARLY;
