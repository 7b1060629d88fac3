import { type Clock, createSharedCache, type Events, type Logger, type Objects } from 'agent-gateway';
import { SkillErrors, type SkillSummary, type Skills, SkillsChanged } from '../../contract.ts';
import { readInstalled } from './installed-skills.ts';
import { MAX_SKILLS, summaryOf, uploaded, withoutSkill, withSkill } from './manifest.ts';
import type { Manifests } from './manifests.ts';
import { MARKDOWN, SOUL_KEY, skillKey } from './skill-objects.ts';
import { createSkillSearch, foundFor, keptTerms, type SkillSearch } from './skill-search.ts';
import { digestOf, isSkillName, MAX_SKILL_BYTES, readSkill, type SkillCatalog } from './skill-text.ts';

/** What the skills are made of. */
interface SkillsParts {
  readonly manifests: Manifests;
  readonly objects: {
    forTenant(tenantId: string): { text(key: string, limit: number): Promise<string | undefined> };
  };
  readonly catalog: SkillCatalog;
  readonly log: Logger;
}

/** Makes the service behind the routes, the tools and `SkillsRef`. */
export function createSkills({ manifests, objects, catalog, log }: SkillsParts): Skills & {
  /** A search that can be used repeatedly and without a promise; at most a second old when it is made. */
  search(tenantId: string): Promise<SkillSearch>;
} {
  const installed = readInstalled(catalog);
  const searchOf = createSkillSearch(catalog);
  const search = async (tenantId: string) => searchOf(installed(await manifests.read(tenantId)));

  async function read(tenantId: string, name: string): Promise<string> {
    checkName(name);
    const skill = installed(await manifests.read(tenantId)).byName.get(name);
    if (skill === undefined) throw SkillErrors.notFound();
    const text =
      skill.shared?.text ?? (await objects.forTenant(tenantId).text(skillKey(name), MAX_SKILL_BYTES));
    if (text === undefined) throw SkillErrors.notFound();
    return text;
  }

  return {
    list: async (tenantId) => installed(await manifests.read(tenantId)).list,

    read,
    search,

    async find(tenantId, query) {
      return foundFor(await search(tenantId), query);
    },

    async instructions(tenantId, name) {
      const text = await read(tenantId, name);
      const reading = readSkill(name, text);
      return 'body' in reading ? reading.body : text;
    },

    async write(tenantId, name, text): Promise<SkillSummary> {
      checkName(name);
      if (Buffer.byteLength(text) > MAX_SKILL_BYTES) {
        throw SkillErrors.tooLarge(`A skill may have ${MAX_SKILL_BYTES} bytes`);
      }
      const reading = readSkill(name, text);
      if ('problems' in reading) throw SkillErrors.invalid(undefined, { errors: reading.problems });
      const content = { ...reading.head, sha256: digestOf(text), terms: keptTerms(reading.body) };
      return manifests.change(tenantId, async ({ manifest, space, signal }) => {
        const { byName } = installed(manifest);
        const previous = byName.get(name)?.entry;
        if (previous === undefined && byName.size >= MAX_SKILLS) {
          throw SkillErrors.limit(`A tenant may have ${MAX_SKILLS} skills`);
        }
        await space.put(skillKey(name), text, { contentType: MARKDOWN, limit: MAX_SKILL_BYTES, signal });
        const entry = uploaded(previous, content);
        return { manifest: withSkill(manifest, name, entry), result: summaryOf(name, entry) };
      });
    },

    async remove(tenantId, name) {
      checkName(name);
      let isDecided = false;
      await manifests.change(
        tenantId,
        async ({ manifest }) => {
          const entry = installed(manifest).byName.get(name)?.entry;
          if (entry === undefined) {
            // On a second attempt the skill may be gone because the first write succeeded and its answer was lost.
            if (!isDecided) throw SkillErrors.notFound();
            return { result: undefined };
          }
          isDecided = true;
          const isRemembered = entry.source === 'builtin' || catalog.skills.has(name);
          return { manifest: withoutSkill(manifest, name, isRemembered), result: undefined };
        },
        async ({ space }) => {
          try {
            await space.delete(skillKey(name));
          } catch (err) {
            // The manifest does not name it any more, so the skill is gone; only its bytes stay.
            log.warn({ err, tenant_id: tenantId, skill: name }, 'the text of a deleted skill stays behind');
          }
        },
      );
    },
  };
}

function checkName(name: string): void {
  if (isSkillName(name)) return;
  throw SkillErrors.invalidName(
    'A name has 1 to 64 lower-case letters, digits and hyphens, the first no hyphen',
  );
}

/** Bytes of a SOUL.md. */
export const MAX_SOUL_BYTES = 64 * 1024;
const MAX_AGE_MS = 1000;
/** The store has time limits of its own. */
const LOAD_MS = 120_000;
/** Texts that are kept in memory. */
const MAX_TENANTS = 500;

/**
 * Makes the service behind the routes and behind `SoulsRef`. A text is at most a second old, and never older than the
 * last write here.
 */
export function createSouls(parts: {
  readonly objects: Pick<Objects, 'forTenant'>;
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
}) {
  const { objects, events, clock } = parts;
  const recent = createSharedCache<{ readonly text: string | undefined }>({
    load: async (tenantId) => ({ text: await objects.forTenant(tenantId).text(SOUL_KEY, MAX_SOUL_BYTES) }),
    clock,
    maxAge: MAX_AGE_MS,
    deadline: LOAD_MS,
    maxLoads: Number.POSITIVE_INFINITY,
    maxEntries: MAX_TENANTS,
    weigh: ({ text = '' }) => text.length,
  });
  return {
    read: async (tenantId: string): Promise<string | undefined> => (await recent.get(tenantId)).text,
    async write(tenantId: string, text: string): Promise<void> {
      if (Buffer.byteLength(text) > MAX_SOUL_BYTES) {
        throw SkillErrors.soulTooLarge(`SOUL.md may have ${MAX_SOUL_BYTES} bytes`);
      }
      try {
        await objects
          .forTenant(tenantId)
          .put(SOUL_KEY, text, { contentType: MARKDOWN, limit: MAX_SOUL_BYTES });
      } finally {
        // Also after a failure: a write whose answer was lost may have happened.
        recent.forget(tenantId);
      }
      events.emit(SkillsChanged, { tenant_id: tenantId });
    },
    forget: recent.forget,
    clear: recent.clear,
  };
}
