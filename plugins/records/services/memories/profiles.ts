import type { Clock, Events, Ids } from 'agent-gateway';
import { MemoriesChanged, ProfileErrors, type Profiles } from '../../contract.ts';
import { deleteProfile, findProfile, writeProfile } from '../../store/memories/profile.ts';
import { isUserId, userProblem } from './memory-rules.ts';

/** Bytes of a profile. */
const MAX_PROFILE_BYTES = 16 * 1024;

/** Makes the service behind the routes and behind `ProfilesRef`. */
export function createProfiles(parts: {
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
  readonly ids: Ids;
}): Profiles {
  const { events, clock, ids } = parts;
  return {
    read: async (entities, userId) => (isUserId(userId) ? findProfile(entities, userId) : undefined),
    async write(entities, userId, text) {
      if (!isUserId(userId)) throw ProfileErrors.invalidUser(undefined, { errors: [userProblem] });
      if (Buffer.byteLength(text) > MAX_PROFILE_BYTES) {
        throw ProfileErrors.tooLarge(`A profile may have ${MAX_PROFILE_BYTES} bytes`);
      }
      if (text === '') await deleteProfile(entities, userId);
      else await writeProfile(entities, { id: ids.uuid(), userId, text, updatedAt: new Date(clock.now()) });
      events.emit(MemoriesChanged, { tenant_id: entities.tenantId, user_id: userId });
    },
  };
}
