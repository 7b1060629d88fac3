import { createHash } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import pino from 'pino';
import { type Database, openDatabase } from '../../../../../foundation/data/database.ts';
import type { Embeddings } from '../../../../../plugins/records/contract.ts';
import { createMemories, createProfiles } from '../../../../../plugins/records/services/memories/memories.ts';
import { MemoryEntity, ProfileEntity } from '../../../../../plugins/records/store/memories.ts';
import { memoriesMigration } from '../../../../../plugins/records/store/migrations.ts';
import { fakeServices } from '../../../../../testing/index.ts';
import type { FreshDatabase } from '../../../../support/databases.ts';

/** Embeddings of a test: each word is a direction of its own, so texts with the same words are alike. */
export interface TestEmbeddings extends Embeddings {
  /** What each call was asked for. */
  readonly calls: (readonly string[])[];
  /** While set, every call fails. */
  isAway: boolean;
}

const SIZE = 64;

export function testEmbeddings(id = 'test:64'): TestEmbeddings {
  const calls: (readonly string[])[] = [];
  return {
    id,
    calls,
    isAway: false,
    async embed(texts) {
      calls.push(texts);
      if (this.isAway) throw new Error('the embeddings are away');
      return texts.map(vectorOf);
    },
  };
}

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(SIZE);
  for (const word of text.toLowerCase().match(/\w+/g) ?? ['nothing']) {
    const place = createHash('sha256').update(word).digest()[0]! % SIZE;
    vector[place] = vector[place]! + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Memories and profiles over an empty database of the family. */
export async function openMemories(
  t: ExecutionContext,
  fresh: FreshDatabase,
  embeddings: Embeddings = testEmbeddings(),
) {
  const database: Database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register({
    owner: 'memories-test',
    entities: [MemoryEntity, ProfileEntity],
    migrations: [memoriesMigration],
  });
  const services = fakeServices();
  t.teardown(() => services[Symbol.asyncDispose]());
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  return {
    database,
    services,
    logged,
    memories: createMemories({ ...services, embeddings: () => embeddings, log }),
    profiles: createProfiles(services),
    /** The same over other embeddings, as after a change of the configuration. */
    withEmbeddings: (other: Embeddings | undefined) =>
      createMemories({ ...services, embeddings: () => other, log }),
  };
}
