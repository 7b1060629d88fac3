import { type EntityMetadata, EntitySchema } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sql';
import type { EntityOwner } from './database-port.ts';
import { DatabaseDefect } from './errors.ts';
import {
  type AnyEntitySchema,
  checkKinds,
  checkRelations,
  type EntityRegistration,
  type Tenancies,
  type TenantRule,
  tenantRule,
  unwrap,
} from './tenancy.ts';

/** The entities that one generation of an owner's code brought. */
interface Generation {
  readonly schemas: readonly AnyEntitySchema[];
  rules: ReadonlyMap<string, TenantRule>;
  uses: number;
}

/**
 * The entities of one database, each with its owner. They come, go and come back while the gateway runs: a new
 * generation of an owner's code is known together with the old one, whose calls in flight go on, until the old one is
 * released.
 */
export class EntityRegistry {
  readonly #orm: MikroORM;
  readonly #tenancies: Tenancies;
  /** By owner, the newest last. */
  readonly #owners = new Map<string, readonly Generation[]>();

  constructor(orm: MikroORM, tenancies: Tenancies) {
    this.#orm = orm;
    this.#tenancies = tenancies;
  }

  /**
   * Makes the entities of owners that are new known ahead of `add`, in one go: the ORM goes through all that it knows
   * each time. Where something is wrong with one of them none is known, and its `add` says what.
   */
  announce(owners: readonly EntityOwner[]): void {
    const generations = owners
      .filter(({ name }) => !this.#owners.has(name))
      .map(({ name, entities = [] }) => {
        const schemas = entities.map((entity) => unwrap(entity).entity);
        return [name, { schemas, rules: new Map(), uses: 0 }] as const;
      });
    const come = generations.flatMap(([, { schemas }]) => schemas);
    try {
      // Before the ORM is touched: what is refused here may be an entity that another owner uses.
      this.#assertFree('', come, []);
    } catch {
      return;
    }
    try {
      this.#orm.discoverEntity(come);
    } catch {
      const classes = come.map(({ meta }) => meta.class);
      this.#orm.discoverEntity([], classes);
      return;
    }
    for (const [name, generation] of generations) this.#owners.set(name, [generation]);
  }

  /**
   * Makes an owner's entities known, also next to those of the names that it had before, which may still run;
   * `metadata` in the order of the registrations. When they are refused, everything is as it was before. `release` ends
   * the use: a generation that is not used any more and that another one has replaced is forgotten. Calling it again
   * changes nothing.
   */
  add(owner: string, registrations: readonly EntityRegistration[], formerly: readonly string[] = []) {
    const entities = registrations.map(unwrap);
    const schemas = entities.map(({ entity }) => entity);
    this.#assertFree(owner, schemas, formerly);
    const known = this.#of(owner);
    const generation = known.find((one) => sameMembers(one.schemas, schemas)) ?? {
      schemas,
      rules: new Map(),
      uses: 0,
    };
    this.#set(owner, [...known.filter((one) => one !== generation), generation]);
    try {
      const metadata = schemas.map(({ meta }) => this.#orm.getMetadata().get(meta.class) as EntityMetadata);
      generation.rules = new Map(
        metadata.map((meta, index) => [meta.className, tenantRule(meta, entities[index] ?? {})]),
      );
      this.#applyRules(owner);
      for (const meta of metadata) checkRelations(meta, this.#tenancies);
      generation.uses += 1;
      this.#prune(owner);
      let isReleased = false;
      const release = () => {
        if (isReleased) return;
        isReleased = true;
        generation.uses -= 1;
        this.#prune(owner);
      };
      return { metadata, release };
    } catch (error) {
      this.#set(owner, known);
      throw error;
    }
  }

  /** Keeps what is used; of an owner that uses nothing, what it used last. */
  #prune(owner: string): void {
    const generations = this.#of(owner);
    const used = generations.filter(({ uses }) => uses > 0);
    this.#set(owner, used.length > 0 ? used : generations.slice(-1));
  }

  #set(owner: string, generations: readonly Generation[]): void {
    const before = new Set(this.#of(owner).flatMap(({ schemas }) => schemas));
    const after = new Set(generations.flatMap(({ schemas }) => schemas));
    const gone = [...before.difference(after)];
    const come = [...after.difference(before)];
    this.#owners.set(owner, generations);
    if (gone.length > 0 || come.length > 0)
      this.#orm.discoverEntity(
        come,
        gone.map(({ meta }) => meta.class),
      );
    for (const { meta } of gone) this.#tenancies.delete(meta.className);
    // Also of an owner that has taken over the names of this one.
    for (const known of gone.length > 0 ? this.#owners.keys() : [owner]) this.#applyRules(known);
  }

  /** The rules of the newest generation are set last: the names are the same, and the older generations only end. */
  #applyRules(owner: string): void {
    for (const { rules } of this.#of(owner)) {
      for (const [name, rule] of rules) this.#tenancies.set(name, rule);
    }
  }

  #of(owner: string): readonly Generation[] {
    return this.#owners.get(owner) ?? [];
  }

  /** Entities that are not used any more block no names: their owner has gone, or stopped. */
  #assertFree(owner: string, schemas: readonly AnyEntitySchema[], formerly: readonly string[]): void {
    const taken = [...this.#owners]
      .filter(([other]) => other !== owner && !formerly.includes(other))
      .flatMap(([other, generations]) =>
        generations.filter(({ uses }) => uses > 0).flatMap((g) => g.schemas.map((s) => [other, s] as const)),
      );
    const own: (readonly [string, AnyEntitySchema])[] = [];
    for (const schema of schemas) {
      if (!(schema instanceof EntitySchema))
        refuse(`${owner} registers something that is no entity of defineEntity`);
      const { className: name, tableName: table } = schema.meta;
      if (table === undefined) refuse(`${name} has no tableName`);
      checkKinds(schema);
      for (const [other, { meta }] of [...taken, ...own]) {
        if (meta.className === name) refuse(`The entity name ${name} is taken by ${other}`);
        if (meta.tableName === table) refuse(`The table ${table} is taken by ${meta.className} of ${other}`);
      }
      own.push([owner, schema]);
    }
  }
}

function sameMembers(some: readonly AnyEntitySchema[], others: readonly AnyEntitySchema[]): boolean {
  return some.length === others.length && some.every((schema) => others.includes(schema));
}

function refuse(message: string): never {
  throw new DatabaseDefect('registration', message);
}
