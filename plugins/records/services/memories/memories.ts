import type { Clock, Events, Ids, Logger } from 'agent-gateway';
import {
  type Embeddings,
  type Memories,
  MemoriesChanged,
  type Memory,
  MemoryErrors,
  ProfileErrors,
  type Profiles,
  type ScoredMemory,
} from '../../contract.ts';
import {
  findMemories,
  findMemory,
  findVectors,
  MemoryEntity,
  ProfileEntity,
  rewriteMemory,
  writeMemory,
} from '../../store/memories.ts';
import { createMeaning } from './meaning.ts';
import { isUserId, MAX_MEMORIES, memoryProblems, userProblem } from './memory-rules.ts';
import { rank } from './rank.ts';

const DEFAULT_FOUND = 10;
const MAX_FOUND = 100;
const DEFAULT_THRESHOLD = 0.2;
/** Bytes of a profile. */
const MAX_PROFILE_BYTES = 16 * 1024;

/** What memories are kept and compared with. */
interface MemoriesParts {
  /** The embeddings that memories are compared by; undefined: by words alone. */
  readonly embeddings: () => Embeddings | undefined;
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** Makes the service behind the routes, the tools and `MemoriesRef`. */
export function createMemories({ embeddings, events, clock, ids, log }: MemoriesParts): Memories {
  const meaning = createMeaning({ embeddings, clock, log });
  const notify = (tenantId: string, userId: string) =>
    events.emit(MemoriesChanged, { tenant_id: tenantId, user_id: userId });

  return {
    list: async (entities, userId, page) =>
      isUserId(userId) ? findMemories(entities, userId, page) : { memories: [], total: 0 },

    async save(entities, userId, { key, value, metadata = {} }) {
      const errors = memoryProblems(userId, { key, value, metadata });
      if (errors.length > 0) throw MemoryErrors.invalid(undefined, { errors });
      const id = ids.uuid();
      const now = new Date(clock.now());
      const memory: Memory = {
        id,
        userId,
        key: key ?? id,
        value,
        metadata,
        createdAt: now,
        updatedAt: now,
      };
      const saved = await writeMemory(entities, memory, MAX_MEMORIES);
      if (saved === undefined) throw MemoryErrors.full(`A user may have ${MAX_MEMORIES} memories`);
      notify(entities.tenantId, userId);
      return saved;
    },

    find: findMemory,

    async update(entities, id, { value, metadata }) {
      const old = await findMemory(entities, id);
      if (old === undefined) return undefined;
      const errors = memoryProblems(old.userId, { value, metadata });
      if (errors.length > 0) throw MemoryErrors.invalid(undefined, { errors });
      const changed: Memory = {
        ...old,
        value,
        metadata: metadata ?? old.metadata,
        updatedAt: new Date(clock.now()),
      };
      if (!(await rewriteMemory(entities, changed))) return undefined;
      notify(entities.tenantId, old.userId);
      return changed;
    },

    async forget(entities, userId, key) {
      if (!isUserId(userId) || key.includes('\0')) return false;
      if ((await entities.delete(MemoryEntity, { userId, key })) === 0) return false;
      notify(entities.tenantId, userId);
      return true;
    },

    async search(entities, userId, query, options = {}): Promise<readonly ScoredMemory[]> {
      const { limit = DEFAULT_FOUND, threshold = DEFAULT_THRESHOLD } = options;
      if (!isUserId(userId) || query.trim() === '') return [];
      const memories = await findVectors(entities, userId, MAX_MEMORIES);
      if (memories.length === 0) return [];
      const { vector, candidates } = await meaning(entities, query, memories);
      const wanted = { query, vector, threshold, limit: Math.max(0, Math.min(limit, MAX_FOUND)) };
      return rank(candidates, wanted);
    },
  };
}

/** Makes the service behind the routes and behind `ProfilesRef`. */
export function createProfiles(parts: {
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
  readonly ids: Ids;
}): Profiles {
  const { events, clock, ids } = parts;
  return {
    async read(entities, userId) {
      const row = isUserId(userId) ? await entities.findOne(ProfileEntity, { userId }) : null;
      return row === null ? undefined : JSON.parse(row.text);
    },
    async write(entities, userId, text) {
      if (!isUserId(userId)) throw ProfileErrors.invalidUser(undefined, { errors: [userProblem] });
      if (Buffer.byteLength(text) > MAX_PROFILE_BYTES) {
        throw ProfileErrors.tooLarge(`A profile may have ${MAX_PROFILE_BYTES} bytes`);
      }
      const row = { id: ids.uuid(), userId, text: JSON.stringify(text), updatedAt: new Date(clock.now()) };
      if (text === '') await entities.delete(ProfileEntity, { userId });
      else await entities.upsert(ProfileEntity, row, { conflict: ['userId'], update: ['text', 'updatedAt'] });
      events.emit(MemoriesChanged, { tenant_id: entities.tenantId, user_id: userId });
    },
  };
}
