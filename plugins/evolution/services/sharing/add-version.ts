import { defineErrors, isUniqueViolation, requireSound } from 'agent-gateway';
import type { VersionStore } from '../../store/sharing-versions.ts';

/** The errors of sharing. */
const SharingErrors = defineErrors({
  mismatch: {
    code: 'sharing-policy.version-mismatch',
    kind: 'precondition-failed',
    title: 'The sharing policy has another version by now',
  },
  busy: {
    code: 'sharing-policy.busy',
    kind: 'conflict',
    title: 'The sharing policy is being changed by many at the same time',
  },
  unknownVersion: {
    code: 'sharing-policy.version-not-found',
    kind: 'not-found',
    title: 'The sharing policy has no such version',
  },
});

/** How often a writer that loses every race retries. Of the writers that race for a version one gets it. */
const ATTEMPTS = 32;

/** The author of a change, the reason, and the version that it expects. */
export interface Change {
  /** Id of the identity. */
  readonly by: string;
  readonly reason: string | null;
  /** Whether the version in force is the one that the change is meant for. */
  readonly expects: (version: number) => boolean;
}

/** The version before a change, where there was one, and the one that it made. */
export interface Written<Row> {
  readonly before: Row | undefined;
  readonly row: Row;
}

/**
 * Adds the version that `make` makes of the one in force. Versions are unique: the later of two writers builds on the
 * other's version, unless it expects another.
 *
 * @throws `sharing-policy.version-mismatch`, `sharing-policy.busy`
 */
export async function addVersion<Row extends { readonly version: number }>(
  store: VersionStore<Row>,
  expects: Change['expects'],
  make: (version: number, before: Row | undefined) => Row | Promise<Row>,
): Promise<Written<Row>> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await store.latest();
    const current = before?.version ?? 0;
    if (!expects(current)) throw SharingErrors.mismatch(`The version in force is ${current}.`);
    const row = await make(current + 1, before);
    try {
      await store.add(row);
      return { before, row };
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
    }
  }
  throw SharingErrors.busy();
}

/**
 * The version that a rollback brings back. Throws `request.invalid` for the current one,
 * `sharing-policy.version-not-found`.
 */
export async function formerVersion<Row extends { readonly version: number }>(
  store: VersionStore<Row>,
  wanted: number,
  current: number,
): Promise<Row> {
  if (wanted === current)
    requireSound([{ pointer: '/body/version', message: 'must not be the version that is in force' }]);
  const row = await store.find(wanted);
  if (row === undefined) throw SharingErrors.unknownVersion();
  return row;
}
