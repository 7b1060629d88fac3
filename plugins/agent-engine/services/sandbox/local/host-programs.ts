import { access, constants } from 'node:fs/promises';
import { SandboxErrors, type SandboxLanguage } from '../../../contract.ts';

/** The programs of this machine that the sandbox is made of, as absolute paths. */
export interface HostPrograms {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly setpriv: string;
  /** What runs the code, as a path on the host. */
  readonly interpreter: string;
}

/** Folders that are seen inside as well. Not `PATH`: a version manager's shim in a home folder would not work there. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];

/**
 * Finds them, anew for each execution, so that installing one is enough. Throws `sandbox.unavailable`, which says what to install.
 *
 * @param nodePath the Node that runs JavaScript: the gateway's own, wherever it is
 */
export async function findHostPrograms(language: SandboxLanguage, nodePath: string): Promise<HostPrograms> {
  const [bwrap, prlimit, setpriv, interpreter] = await Promise.all([
    find(['bwrap']),
    find(['prlimit']),
    find(['setpriv']),
    language === 'javascript' ? nodePath : find(language === 'python' ? ['python3'] : ['bash', 'sh']),
  ]);
  const missing = [
    bwrap === undefined ? 'bubblewrap' : undefined,
    prlimit === undefined || setpriv === undefined ? 'util-linux' : undefined,
    interpreter === undefined ? (language === 'python' ? 'python3' : 'bash') : undefined,
  ].filter((name) => name !== undefined);
  if (!bwrap || !prlimit || !setpriv || !interpreter) {
    throw SandboxErrors.unavailable(
      `the local sandbox needs packages that this machine lacks: ${missing.join(', ')}`,
    );
  }
  return { bwrap, prlimit, setpriv, interpreter };
}

async function find(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of FOLDERS) {
      const path = `${folder}/${name}`;
      if (
        await access(path, constants.X_OK).then(
          () => true,
          () => false,
        )
      )
        return path;
    }
  }
  return undefined;
}
