import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isWhole } from '../support/sample.ts';

/** A shell in which a reader types one command after the other. */
export interface Shell {
  /**
   * Runs commands and returns what they wrote to standard output.
   *
   * @throws Error with the output when one of them fails, or nothing comes for a minute.
   */
  run(commands: string): Promise<string>;
  close(): Promise<void>;
}

/** No output holds this character. */
const END = '\u001e';
const DEADLINE_MS = 60_000;

/**
 * Finds what npx finds in the folder of a deployment. That one reads each package first, which takes longer than most
 * of what it starts; it is left to `npm run test:long`.
 */
const NPX = `npx() {
  while case $1 in -*) true ;; *) false ;; esac; do shift; done
  local program=node_modules/.bin/$1
  [ "$1" != saas-api ] || program=cli/saas-api
  shift
  "$program" "$@"
}
`;

/** Starts a bash that ends with the first command that fails. */
export function openShell(folder: string, env: Readonly<Record<string, string>>): Shell {
  const child = spawn('bash', ['-euo', 'pipefail'], { cwd: folder, env, stdio: 'pipe' });
  const exited = once(child, 'close');
  let stdout = '';
  let stderr = '';
  let arrived = Promise.withResolvers<void>();
  const ended = { is: false };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (stdout.includes(END)) arrived.resolve();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.once('close', () => {
    ended.is = true;
    arrived.resolve();
  });
  // Commands that come after the end of the shell are told as a failure by `run`.
  child.stdin.on('error', () => {});
  if (!isWhole) child.stdin.write(NPX);

  return {
    async run(commands) {
      arrived = Promise.withResolvers();
      if (ended.is) arrived.resolve();
      stdout = '';
      child.stdin.write(`${commands}\nprintf '${END}'\n`);
      const timer = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
      await arrived.promise;
      clearTimeout(timer);
      if (!stdout.includes(END)) throw new Error(`these commands failed:\n${commands}\n${stdout}${stderr}`);
      return stdout.slice(0, stdout.indexOf(END));
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
