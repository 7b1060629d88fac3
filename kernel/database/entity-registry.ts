import { type EntityMetadata, EntitySchema } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sql';
import { DatabaseDefect } from './errors.ts';
import {
  type AnyEntitySchema,
  checkRelations,
  type EntityRegistration,
  type Tenancies,
  tenantRule,
  unwrap,
} from './tenancy.ts';

interface Entry {
  readonly owner: string;
  readonly schema: AnyEntitySchema;
}

/** The entities of one database, each with its owner. They come, go and come back while the gateway runs. */
export class EntityRegistry {
  readonly #orm: MikroORM;
  readonly #tenancies: Tenancies;
  readonly #entries = new Map<string, Entry>();

  constructor(orm: MikroORM, tenancies: Tenancies) {
    this.#orm = orm;
    this.#tenancies = tenancies;
  }

  /**
   * Makes an owner's entities known and returns their metadata. A new generation of the owner's code replaces all that it had;
   * when it is refused, the owner has nothing.
   */
  add(owner: string, registrations: readonly EntityRegistration[]): readonly EntityMetadata[] {
    const entities = registrations.map(unwrap);
    for (const { entity } of entities) this.#assertFree(owner, entity);
    const known = this.#schemasOf(owner);
    const isSame = known.length === entities.length && entities.every(({ entity }) => known.includes(entity));
    if (!isSame)
      this.#replace(
        owner,
        entities.map(({ entity }) => entity),
      );
    try {
      const metadata = entities.map(
        ({ entity }) => this.#orm.getMetadata().get(entity.meta.class) as EntityMetadata,
      );
      metadata.forEach((meta, index) => {
        this.#tenancies.set(meta.className, tenantRule(meta, entities[index]?.declared));
      });
      for (const meta of metadata) checkRelations(meta, this.#tenancies);
      return metadata;
    } catch (error) {
      this.#replace(owner, []);
      throw error;
    }
  }

  #replace(owner: string, schemas: readonly AnyEntitySchema[]): void {
    const old = this.#schemasOf(owner);
    for (const { meta } of old) {
      this.#entries.delete(meta.className);
      this.#tenancies.delete(meta.className);
    }
    this.#orm.discoverEntity(
      [...schemas],
      old.map(({ meta }) => meta.class),
    );
    for (const schema of schemas) this.#entries.set(schema.meta.className, { owner, schema });
  }

  #schemasOf(owner: string): AnyEntitySchema[] {
    return [...this.#entries.values()].filter((entry) => entry.owner === owner).map(({ schema }) => schema);
  }

  #assertFree(owner: string, schema: AnyEntitySchema): void {
    if (!(schema instanceof EntitySchema))
      refuse(`${owner} registers something that is no entity of defineEntity`);
    const { className: name, tableName: table } = schema.meta;
    if (table === undefined) refuse(`${name} has no tableName`);
    for (const [otherName, other] of this.#entries) {
      if (other.owner === owner) continue;
      if (otherName === name) refuse(`The entity name ${name} is taken by ${other.owner}`);
      if (other.schema.meta.tableName === table)
        refuse(`The table ${table} is taken by ${otherName} of ${other.owner}`);
    }
  }
}

function refuse(message: string): never {
  throw new DatabaseDefect('registration', message);
}
