import type { Plugin } from '../../kernel/api/plugin.ts';
import { familyOf } from '../fresh-database.ts';
import { answersCheck } from './answers-check.ts';
import { besideCheck } from './beside-check.ts';
import { drainCheck } from './drain-check.ts';
import { withGateway } from './gateway-of.ts';
import { lifecycleCheck } from './lifecycle-check.ts';
import type { ConformanceOptions } from './options.ts';
import { personalDataCheck } from './personal-data-check.ts';
import { routesCheck } from './routes-check.ts';
import { ConformanceError, messageOf, NotRunning, placed, type Subject } from './subject.ts';
import { tenancyCheck } from './tenancy-check.ts';
import { watchErrors } from './unhandled-errors.ts';

/** One check. */
export interface ConformanceCheck {
  readonly title: string;
  /**
   * Rejects with a `ConformanceError` whose message says what is wrong, a line each. It can be a test as it is:
   * `test(title, run)`.
   */
  run(): Promise<void>;
  /**
   * Of a check that was run: there was nothing to check, since the plugin does not run, which an earlier check has
   * said.
   */
  readonly isSkipped: boolean;
}

type Check = (subject: Subject) => Promise<readonly string[]>;

const CHECKS: readonly (readonly [title: string, check: Check])[] = [
  ['it starts beside the bundled plugins', besideCheck],
  ['set up and torn down twice, it leaves nothing', lifecycleCheck],
  ['each route has access, a summary and schemas', routesCheck],
  ['its migrations make the tables of its entities', schemaCheck],
  ['each sample is answered as declared, also the second time', answersCheck],
  ['no list, read or change crosses tenants', tenancyCheck],
  ['what it keeps about people is exported and erased', personalDataCheck],
  ['disabling it fails no request in flight', drainCheck],
];

/**
 * The checks that every plugin has to pass, for any test runner. Run them one after the other, and nothing in parallel
 * with them: errors that no code handles are the findings of the check that runs.
 *
 * @throws Error for a database that is none
 * @example
 * for (const { title, run } of pluginConformance(notes)) {
 *   test.serial(title, async (t) => { await t.notThrowsAsync(run); });
 * }
 */
export function pluginConformance(
  plugin: Plugin,
  options: ConformanceOptions = {},
): readonly ConformanceCheck[] {
  const { databases = ['sqlite'] } = options;
  return databases.flatMap((database) => {
    const family = database === 'sqlite' ? database : familyOf(database);
    const server = database === 'sqlite' ? undefined : database;
    const subject: Subject = { plugin, options, server, silent: new Set(), isIdle: false };
    return CHECKS.map(([title, check]) => {
      let isSkipped = false;
      return {
        title: options.databases === undefined ? title : `${title} (${family})`,
        run: async () => {
          isSkipped = subject.isIdle;
          if (!isSkipped) await run(check, subject);
        },
        get isSkipped() {
          return isSkipped;
        },
      };
    });
  });
}

async function run(check: Check, subject: Subject): Promise<void> {
  using errors = watchErrors(subject.options.folder);
  const problems = await check(subject).catch((failure: unknown) => {
    if (failure instanceof NotRunning) subject.isIdle = true;
    return [failure instanceof ConformanceError ? failure.message : unexpected(failure, subject)];
  });
  const all = [...new Set([...problems, ...errors.take()])];
  if (all.length > 0) throw new ConformanceError(all.join('\n'));
}

/** The tables that the migrations made are those that the entities describe. */
async function schemaCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(subject, async ({ gateway }) => {
    const drift = await gateway.services.database.schemaDrift();
    const statements = drift.split('\n').map((line) => line.trim());
    return statements
      .filter((line) => line !== '')
      .map((line) => `entities and migrations differ; this would make them equal: ${line}`);
  });
}

/** What a check did not expect: of its gateway, or of the author's own functions. */
function unexpected(failure: unknown, { options }: Subject): string {
  return `the check cannot be made: ${messageOf(failure)}${placed(failure, options)}`;
}
