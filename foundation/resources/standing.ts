import type { KindSlot } from './kind-slot.ts';
import type { SourceFile } from './source-file.ts';
import type { Version } from './version.ts';

/** Is everything that a version needs still of plugins that run? */
export function soundness(kinds: ReadonlyMap<string, KindSlot>): (version: Version) => boolean {
  const slots = new Set(kinds.values());
  const known = new Map<Version, boolean>();
  const isSound = (version: Version): boolean => {
    const told = known.get(version);
    if (told !== undefined) return told;
    const result = slots.has(version.slot) && [...version.dependencies.values()].every(isSound);
    known.set(version, result);
    return result;
  };
  return isSound;
}

/** Tells of a file whether something in it could not be read or told apart: what it held before may still be meant. */
export function unreadPlaces(files: readonly SourceFile[]): (file: string) => boolean {
  const unread = new Set(
    files
      .filter(
        ({ problems, documents }) => problems.length > 0 || documents.some(({ id }) => id === undefined),
      )
      .map(({ path }) => path),
  );
  return (file) => {
    if (unread.has('.') || unread.has(file)) return true;
    const parts = file.split('/');
    return parts.some((_part, index) => unread.has(parts.slice(0, index).join('/')));
  };
}
