import { fileURLToPath } from 'node:url';
import type { Logger } from 'agent-gateway';
import type { EngineEnd, EngineRun, SandboxEngine } from '../engine.ts';
import { bubblewrapArguments } from './bubblewrap-arguments.ts';
import { findHostPrograms } from './host-programs.ts';
import { runBubblewrap } from './run-bubblewrap.ts';
import { systemCallFilter } from './system-call-filter.ts';
import { exposedPaths, findVisibleFolders } from './visible-folders.ts';

/** What the local engine works with. */
export interface LocalEngineOptions {
  readonly memoryBytes: number;
  readonly log: Logger;
}

/** Far above the ids of people and services, so that nobody's files and processes are theirs. One for each place. */
const FIRST_USER = 1_879_048_192;

/** The gateway's own folder. It may be inside of a folder that code sees, `/usr/lib/…` for example. */
const GATEWAY = fileURLToPath(new URL('../../../../../', import.meta.url)).replace(/\/$/, '');

/**
 * Code in a bubblewrap sandbox on this machine: no network, no files but those of the interpreters, an empty environment, limits
 * on time, memory, processes and files. It shares the kernel with the gateway, and is for development.
 */
export function openLocalEngine({ memoryBytes, log }: LocalEngineOptions): SandboxEngine {
  const filter = systemCallFilter(process.arch);
  const isRoot = process.getuid?.() === 0;
  const users = new Set<number>();

  async function run(engineRun: EngineRun): Promise<EngineEnd> {
    const { language, timeoutMs } = engineRun.job;
    const [programs, folders] = await Promise.all([
      findHostPrograms(language, process.execPath),
      findVisibleFolders(),
    ]);
    // Limits of processes count by user, so that each execution has one of its own.
    let user = FIRST_USER;
    while (users.has(user)) user += 1;
    users.add(user);
    try {
      const args = bubblewrapArguments({
        language,
        programs,
        folders,
        hidden: exposedPaths([...new Set([GATEWAY, process.cwd()])], folders),
        rootRunsAs: isRoot ? user : undefined,
        memoryBytes,
        timeoutMs,
        hasFilter: filter !== undefined,
      });
      return await runBubblewrap({ bwrap: programs.bwrap, args, filter, memoryBytes, log }, engineRun);
    } finally {
      users.delete(user);
    }
  }

  return { graceMs: 0, run, [Symbol.asyncDispose]: () => Promise.resolve() };
}
