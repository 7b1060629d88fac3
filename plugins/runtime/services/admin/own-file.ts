import type { ResourceSource } from 'agent-gateway';

/** Why the API leaves the file of a resource to those who wrote it; undefined where it may change or delete it. Pure. */
export function whyNotOurs({ file, isAlone }: ResourceSource): string | undefined {
  if (!isAlone) return `The file ${file} holds other resources too: change it there.`;
  if (file.includes('/')) return `The file ${file} lies in a folder below agents.d: change it there.`;
  return undefined;
}
