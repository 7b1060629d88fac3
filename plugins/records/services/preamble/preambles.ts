import {
  type Clock,
  createSharedCache,
  type Database,
  type Logger,
  type Objects,
  recentMap,
  throttledLog,
  within,
} from 'agent-gateway';
import type { Memories, Preamble, Principal, Profiles, Souls } from '../../contract.ts';
import type { SkillSearch } from '../skills/skill-search.ts';
import { composeHead, type PreambleHead, type PreambleParts, withSkills } from './compose-preamble.ts';
import { fittingSkills } from './fitting-skills.ts';

const MAX_AGE_MS = 1000;
/** Milliseconds that a chat waits for one of the parts. */
const DEADLINE_MS = 2000;
/** Milliseconds for which a part that failed is left out without asking again. */
const PAUSE_MS = 5000;
/** Milliseconds for all parts together; each has its own deadline before. */
const LOAD_MS = 30_000;
const MAX_TENANTS = 500;
const MAX_USERS = 5000;
/** Memories that are looked at: more do not fit into any sensible share. */
const MAX_MEMORIES = 100;

/** What preambles are made of. */
export interface PreamblesParts {
  readonly souls: Pick<Souls, 'read'>;
  readonly skills: { search(tenantId: string): Promise<SkillSearch> };
  readonly memories: Pick<Memories, 'list'>;
  readonly profiles: Pick<Profiles, 'read'>;
  readonly objects: Pick<Objects, 'available'>;
  /** The SOUL.md that every tenant gets: it is no secret. */
  readonly defaultSoul: string;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly log: Logger;
}

type TenantParts = Pick<PreambleParts, 'soul'> & { readonly skills: SkillSearch | undefined };
type UserParts = Pick<PreambleParts, 'profile' | 'memories'>;

interface Composed {
  readonly tenant: TenantParts;
  readonly maxTokens: number;
  readonly head: PreambleHead;
}

/** Makes the preambles. Their content is a second old at most; a part that failed is left out for five seconds. */
export function createPreambles(parts: PreamblesParts) {
  const { souls, skills, memories, profiles, objects, database, clock, log } = parts;
  const defaultSoul = parts.defaultSoul.trim();
  const readPart = createPartReader(clock, log);
  const common = { clock, maxAge: MAX_AGE_MS, maxLoads: Number.POSITIVE_INFINITY, deadline: LOAD_MS };
  const tenants = createSharedCache<TenantParts>({
    ...common,
    load: loadTenant,
    maxEntries: MAX_TENANTS,
    // The search belongs to the cached manifests, which have their own limit.
    weigh: ({ soul = '' }) => soul.length,
  });
  const users = createSharedCache<UserParts>({
    ...common,
    load: loadUser,
    maxEntries: MAX_USERS,
    weigh: ({ profile = '', memories: list }) => profile.length + lengthOf(list.map(({ value }) => value)),
  });
  // The last head that was made of a user's cached parts; it is dropped with them.
  const lastMade = new WeakMap<UserParts, Composed>();

  async function loadTenant(tenantId: string): Promise<TenantParts> {
    if (!objects.available) return { skills: undefined };
    const [soul, search] = await Promise.all([
      readPart('SOUL.md', tenantId, () => souls.read(tenantId)),
      readPart('skills', tenantId, () => skills.search(tenantId)),
    ]);
    return { soul, skills: search };
  }

  async function loadUser(key: string): Promise<UserParts> {
    const [tenantId, userId]: [string, string] = JSON.parse(key);
    const [profile, found] = await Promise.all([
      readPart('the profile', key, () => profiles.read(database.forTenant(tenantId), userId)),
      readPart('memories', key, () =>
        memories.list(database.forTenant(tenantId), userId, { limit: MAX_MEMORIES, offset: 0 }),
      ),
    ]);
    return { profile, memories: found?.memories ?? [] };
  }

  function headOf(tenant: TenantParts, user: UserParts, maxTokens: number): PreambleHead {
    const last = lastMade.get(user);
    if (last !== undefined && last.tenant === tenant && last.maxTokens === maxTokens) return last.head;
    const head = composeHead({ ...tenant, ...user }, maxTokens);
    lastMade.set(user, { tenant, maxTokens, head });
    return head;
  }

  function preambleOf(
    tenant: TenantParts,
    user: UserParts,
    maxTokens: number,
    said: readonly string[],
  ): Preamble {
    const head = headOf(tenant, user, maxTokens);
    const { soul } = head;
    const isOwn = soul !== '' && tenant.soul?.trim() !== defaultSoul;
    const { skills: search } = tenant;
    const text = search === undefined ? head.text : withSkills(head, fittingSkills(search, said));
    return { text, secret: isOwn ? soul : undefined };
  }

  return {
    of({ tenantId, userId }: Principal, maxTokens: number, said: readonly string[]) {
      const tenant = tenants.get(tenantId);
      const user = users.get(keyOf(tenantId, userId));
      if (!(tenant instanceof Promise) && !(user instanceof Promise))
        return preambleOf(tenant, user, maxTokens, said);
      return Promise.all([tenant, user]).then(([ofTenant, ofUser]) =>
        preambleOf(ofTenant, ofUser, maxTokens, said),
      );
    },
    forgetTenant: tenants.forget,
    forgetUser: (tenantId: string, userId: string) => users.forget(keyOf(tenantId, userId)),
    clear(): void {
      tenants.clear();
      users.clear();
    },
  };
}

const lengthOf = (texts: readonly string[]) => texts.reduce((sum, { length }) => sum + length, 0);

const keyOf = (tenantId: string, userId: string) => JSON.stringify([tenantId, userId]);

/**
 * Reads a part within its deadline. Undefined for a part that fails or is late, which is then not read again for a
 * while; the failure is logged, once a minute.
 */
function createPartReader(clock: Clock, log: Logger) {
  const warn = throttledLog<{ readonly err: unknown; readonly part: string }>(clock, (what) =>
    log.warn(what, 'a part of the system prompt is left out'),
  );
  const pausedUntil = recentMap<number>(MAX_TENANTS + MAX_USERS);
  return async <T>(part: string, owner: string, read: () => Promise<T>): Promise<T | undefined> => {
    const key = `${part} ${owner}`;
    if (clock.monotonic() < (pausedUntil.get(key) ?? 0)) return undefined;
    try {
      return await within(DEADLINE_MS, part, read());
    } catch (err) {
      pausedUntil.set(key, clock.monotonic() + PAUSE_MS);
      warn({ err, part });
      return undefined;
    }
  };
}
