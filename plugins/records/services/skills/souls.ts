import type { Clock, Events, Objects } from 'agent-gateway';
import { SkillErrors, SkillsChanged, type Souls } from '../../contract.ts';
import { createRecent } from '../recent/recent.ts';
import { MARKDOWN, SOUL_KEY } from './skill-objects.ts';

/** Bytes of a SOUL.md. */
export const MAX_SOUL_BYTES = 64 * 1024;
const MAX_AGE_MS = 1000;
/** Texts that are kept in memory. */
const MAX_TENANTS = 500;

/** The souls with what drops cached ones. */
export interface CachedSouls extends Souls {
  forget(tenantId: string): void;
  clear(): void;
}

/** Makes the service behind the routes and behind `SoulsRef`. A text is at most a second old, and never older than the last write here. */
export function createSouls(parts: {
  readonly objects: Pick<Objects, 'forTenant'>;
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
}): CachedSouls {
  const { objects, events, clock } = parts;
  const recent = createRecent<{ readonly text: string | undefined }>({
    load: async (tenantId) => ({ text: await objects.forTenant(tenantId).text(SOUL_KEY, MAX_SOUL_BYTES) }),
    clock,
    maxAge: MAX_AGE_MS,
    max: MAX_TENANTS,
    weigh: ({ text = '' }) => text.length,
  });
  return {
    read: async (tenantId) => (await recent.get(tenantId)).text,
    async write(tenantId, text) {
      if (Buffer.byteLength(text) > MAX_SOUL_BYTES) {
        throw SkillErrors.soulTooLarge(`SOUL.md may have ${MAX_SOUL_BYTES} bytes`);
      }
      try {
        await objects
          .forTenant(tenantId)
          .put(SOUL_KEY, text, { contentType: MARKDOWN, limit: MAX_SOUL_BYTES });
      } finally {
        // Also after a failure: a write whose answer was lost has happened.
        recent.forget(tenantId);
      }
      events.emit(SkillsChanged, { tenant_id: tenantId });
    },
    forget: recent.forget,
    clear: recent.clear,
  };
}
