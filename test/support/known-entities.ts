import { type EntityMetadata, MikroORM } from '@mikro-orm/core';

/** Sets of entities that are remembered; those that came first are forgotten first. */
const MOST = 50;

let isRemembering = false;

/**
 * Lets this process remember what the ORM found out about entities: a process of tests opens hundreds of databases with
 * the same ones, and for each of them that is a fifth of a gateway's start and stop. What is found depends on the kind
 * of database, on what it knows already, and on the entities: where all of these are the same objects as before, the
 * same metadata are taken. Using them adds nothing but what would be found again. Where entities go, all is looked at
 * anew. A set that comes for the first time is not remembered, since it may be a test's own.
 */
export function rememberEntities(): void {
  if (isRemembering) return;
  isRemembering = true;
  const found = new Map<string, readonly EntityMetadata[]>();
  const seen = new Set<string>();
  const discover = MikroORM.prototype.discoverEntity;

  MikroORM.prototype.discoverEntity = function (this: MikroORM, entities, gone): void {
    const come = [entities].flat();
    const storage = this.getMetadata();
    const before = new Set(storage);
    const isMore = gone === undefined && come.length > 0;
    const key = isMore ? [this.driver.constructor, ...before, ...come].map(idOf).join() : '';
    const known = found.get(key);
    for (const meta of known ?? []) storage.set(meta.class, meta);
    discover.call(this, known === undefined ? entities : [], gone);
    if (known !== undefined || !isMore) return;
    if (seen.has(key)) found.set(key, [...new Set(storage).difference(before)]);
    seen.add(key);
    if (found.size > MOST) found.delete(found.keys().next().value ?? '');
  };
}

const ids = new WeakMap<object, number>();
let last = 0;

function idOf(thing: object): number {
  const id = ids.get(thing) ?? ++last;
  ids.set(thing, id);
  return id;
}
