import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { compare } from 'semver';
import {
  type ContractChange,
  contractChanges,
  declarationsOf,
  leastVersion,
  reachOf,
} from './contract-changes.ts';

/** The reports of the API that plugins see. */
const REPORTS = ['agent-gateway.api.md', 'agent-gateway-testing.api.md'];

/** The current contract, compared with that of the last release. */
export interface ContractState {
  /** `undefined` before the first release. */
  readonly released: string | undefined;
  readonly changes: readonly ContractChange[];
  /** The lowest version that the kernel may have. */
  readonly least: string;
}

/**
 * Compares `api/*.api.md` with the copy of the last release, `api/released/<version>/`. Changes that
 * `api/compatible.json` names (`{ "<declaration>": "<why>" }`) count as compatible.
 */
export async function contractState(root: string): Promise<ContractState> {
  const released = await lastRelease(root);
  if (released === undefined) return { released, changes: [], least: '1.0.0' };
  const compatible = new Set(Object.keys(await compatibleChanges(root)));
  const changes: ContractChange[] = [];
  for (const report of REPORTS) {
    const read = async (folder: string) =>
      declarationsOf(await readFile(path.join(root, 'api', folder, report), 'utf8'));
    changes.push(...contractChanges(await read(`released/${released}`), await read('.'), compatible));
  }
  return { released, changes, least: leastVersion(released, reachOf(changes)) };
}

/** One line for each reason why the kernel cannot have this version. */
export function versionProblems(
  { released, changes, least }: ContractState,
  version: string,
): readonly string[] {
  if (released === undefined) return ['Nothing is released: npm run contract -- --release'];
  if (compare(version, least) >= 0) return [];
  const reach = reachOf(changes);
  const reasons = changes.filter((change) => change.reach === reach);
  return [
    `The contract of plugins has changed since ${released}: the kernel's version is ${version}, and has to be ${least} at least (kernel/version.ts)`,
    ...reasons.map(({ name, what }) => `${name} ${what}`),
  ];
}

/** Keeps the reports as those of a release, in place of those of the previous release. */
export async function release(root: string, version: string): Promise<void> {
  const folder = path.join(root, 'api/released');
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.join(folder, version), { recursive: true });
  for (const report of REPORTS) await cp(path.join(root, 'api', report), path.join(folder, version, report));
  await rm(path.join(root, 'api/compatible.json'), { force: true });
}

async function lastRelease(root: string): Promise<string | undefined> {
  const versions = await readdir(path.join(root, 'api/released')).catch(absent(() => []));
  return versions.sort(compare).at(-1);
}

async function compatibleChanges(root: string): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await readFile(path.join(root, 'api/compatible.json'), 'utf8').catch(absent(() => '{}')));
}

const absent =
  <T>(value: () => T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value();
    throw error;
  };
