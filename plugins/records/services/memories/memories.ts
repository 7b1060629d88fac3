import type { Clock, Events, Ids, Logger } from 'agent-gateway';
import {
  type Embeddings,
  type Memories,
  MemoriesChanged,
  type Memory,
  MemoryErrors,
  type ScoredMemory,
} from '../../contract.ts';
import { deleteMemory, findMemories, findVectors, writeMemory } from '../../store/memories/memory.ts';
import { createMeaning } from './meaning.ts';
import { isUserId, MAX_MEMORIES, memoryProblems } from './memory-rules.ts';
import { rank } from './rank.ts';

const DEFAULT_FOUND = 10;
const MAX_FOUND = 100;
const DEFAULT_THRESHOLD = 0.2;

/** What the memories are made of. */
export interface MemoriesParts {
  /** What they are compared by; undefined: by words alone. */
  readonly embeddings: () => Embeddings | undefined;
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** Makes the service behind the routes, the tools and `MemoriesRef`. */
export function createMemories({ embeddings, events, clock, ids, log }: MemoriesParts): Memories {
  const meaning = createMeaning({ embeddings, clock, log });
  const tell = (tenantId: string, userId: string) =>
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
        ...{ id, userId, key: key ?? id, value, metadata },
        createdAt: now,
        updatedAt: now,
      };
      const saved = await writeMemory(entities, memory, MAX_MEMORIES);
      if (saved === undefined) throw MemoryErrors.full(`A user may have ${MAX_MEMORIES} memories`);
      tell(entities.tenantId, userId);
      return saved;
    },

    async forget(entities, userId, key) {
      if (!isUserId(userId) || key.includes('\0') || !(await deleteMemory(entities, userId, key)))
        return false;
      tell(entities.tenantId, userId);
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
