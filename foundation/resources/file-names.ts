/**
 * True for the names of files that hold resources: `*.yaml` and `*.yml`, not hidden. Editors' own files are none of them
 * (`.models.yaml.swp`, `models.yaml~`, `.#models.yaml`, `#models.yaml#`, `4913`, `models.yaml.tmp`).
 */
export function isResourceFile(name: string): boolean {
  return /^[^.#].*\.ya?ml$/i.test(name);
}

/** True for folders that are read: not hidden, which leaves out `..data` and `..2024_…` of a ConfigMap, `.git`, and editors' own. */
export function isResourceFolder(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

/** The names that a file written through the administration may have: no folder, nothing hidden. */
export const WRITABLE_FILE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.ya?ml$/;
