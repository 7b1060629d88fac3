import type { Outcome } from '../../cli/outcome.ts';

/*
 * A process that runs commands of `saas-api` one after the other, each in its own folder and with its own variables
 * alone: what they load is loaded once. See `outcomeOf` in `command.ts`.
 */

/** What the process is asked. */
export interface Asked {
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const COMMANDS: Readonly<Record<string, () => Promise<{ main(rest: readonly string[]): Promise<Outcome> }>>> =
  {
    check: () => import('../../cli/check.ts'),
    openapi: () => import('../../cli/openapi.ts'),
    plugins: () => import('../../cli/plugins.ts'),
  };

const home = process.cwd();

process.once('disconnect', () => process.exit());

process.on('message', async ({ folder, args: [command = '', ...rest], env }: Asked) => {
  const { main } = await COMMANDS[command]!();
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const outcome = await main(rest);
  process.chdir(home);
  process.send!(outcome);
});
