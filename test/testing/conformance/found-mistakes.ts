import type { ExecutionContext } from 'ava';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { KERNEL_VERSION } from '../../../kernel/version.ts';
import { type ConformanceOptions, pluginConformance } from '../../../testing/index.ts';
import * as mistakes from './mistakes.ts';
import { at } from './mistakes.ts';

/** Calls that never end are not waited for at the end of each gateway. */
const IMPATIENT = { SVC_DRAIN_TIMEOUT: '300ms' };

/** All that the suite says of a plugin: a line of each finding. */
async function findings(plugin: Plugin, options: ConformanceOptions = {}): Promise<readonly string[]> {
  const said: string[] = [];
  const checks = pluginConformance(plugin, { folder: import.meta.dirname, env: IMPATIENT, ...options });
  for (const { run } of checks) {
    await run().catch((failure: Error) => said.push(...failure.message.split('\n')));
  }
  return said;
}

const HANDLER = (name: string) => `POST /v1/${name}`;

/** A plugin, the one line in which the suite says what is wrong with it, and what the suite is told. */
export type Mistake = readonly [Plugin, string | RegExp, ConformanceOptions?];

/** Each mistake of the trial. */
export const MISTAKES: readonly Mistake[] = [
  [mistakes.throwing, `throwing does not start, it is failed: no luck${at('throwing')}`],
  [
    mistakes.hanging,
    'hanging does not start, it is failed: the set-up of hanging did not end within 0.3 s',
    { setupTimeout: 300 },
  ],
  [
    mistakes.tooNew,
    `too-new does not start, it is failed: too-new works with kernel ^9.0.0; this one is ${KERNEL_VERSION}`,
  ],
  [
    mistakes.badMigration,
    /^bad-migration does not start, it is failed: Migration 001-initial of bad-migration failed/,
  ],
  [mistakes.round, 'round does not start, it is waiting: needs round-about.other, which no plugin offers'],
  [
    mistakes.round,
    'round does not start, it is failed: the plugins need each other in a circle: round-about → round → round-about',
    { with: [mistakes.roundAbout] },
  ],
  [
    mistakes.takesRoute,
    'takes-route does not start, it is failed: GET /v1/models is served by both platform and takes-route',
  ],
  [
    mistakes.takesKind,
    'takes-kind does not start, it is failed: agent-engine and takes-kind both register the kind Model',
  ],
  [
    mistakes.takesTable,
    'takes-table does not start, it is failed: The table sessions is taken by Session of records',
  ],
  [
    mistakes.takesService,
    'takes-service does not start, it is failed: the service records.sessions is offered by both records and takes-service',
  ],
  [
    mistakes.takesPoint,
    'the extension point agent-engine.tools is claimed by both agent-engine and takes-point',
  ],
  [
    mistakes.takesHint,
    /takes-hint does not start, it is failed: the hint workflow.* is worked on by both workflow and takes-hint/,
  ],

  [mistakes.leavesTimer, `after its stop a timer is left${at('timer')}`],
  [mistakes.leavesInterval, `after its stop: an interval of 1000 ms was left${at('interval')}`],
  [mistakes.leavesServer, `after its stop: a server that listens was left${at('server')}`],
  [mistakes.failingUndo, 'after its stop: an undo failed: still in use'],
  [mistakes.differing, 'it registers something else at the second set-up'],

  [mistakes.failing, `${HANDLER('failing')} answers 500: boom${at('failing')}`],
  [mistakes.failingText, /^POST \/v1\/failing-text answers 500: .*a text/],
  [mistakes.circular, /^POST \/v1\/circular answers 500: Converting circular structure to JSON/],
  [mistakes.big, `${HANDLER('big')} answers 500: Do not know how to serialize a BigInt`],
  [mistakes.badHeader, /^POST \/v1\/bad-header answers 500: Invalid character in header content/],
  [mistakes.forgetful, /^POST \/v1\/forgetful answers 500: .*its handler returned nothing/],
  [
    mistakes.onceOnly,
    `${HANDLER('once-only')}, when the same is sent again, answers 500: duplicate key${at('once-only')}`,
  ],
  [
    mistakes.undeclared,
    `${HANDLER('undeclared')} answers 202, which it does not declare: name it in schema.responses`,
  ],
  [
    mistakes.offSchema,
    `${HANDLER('off-schema')} answers 200 with a body that its schema does not allow: /count must be integer`,
  ],
  [mistakes.endless, `${HANDLER('endless')} does not answer within 0.3 s`, { deadline: 300 }],
  [
    mistakes.deaf,
    `${HANDLER('deaf')} goes on after its caller has left: end it when call.signal aborts`,
    { deadline: 2_000 },
  ],
  [mistakes.breaking, `${HANDLER('breaking')} fails after it has begun to answer: half way${at('breaking')}`],
  [
    mistakes.busy,
    `${HANDLER('busy')} keeps the event loop for more than 200 ms, in which nothing else goes on`,
  ],

  [mistakes.notAwaited, `a promise that rejects is not awaited: too late${at('not-awaited')}`],
  [
    mistakes.throwingTimer,
    `an exception in a timer or a listener is not caught: in a timer${at('throwing-timer')}`,
  ],
  [
    mistakes.throwingEmitter,
    `an exception in a timer or a listener is not caught: in an emitter${at('throwing-emitter')}`,
  ],
  [mistakes.throwingSetup, `a promise that rejects is not awaited: in the set-up${at('throwing-setup')}`],

  [
    mistakes.drifting,
    /^drifting does not start, it is failed: The tables of drifting are not .*things has no column late/,
  ],
];

/** The suite says this mistake in this line, and nothing else of the plugin. */
export async function isFound(t: ExecutionContext, [plugin, expected, options]: Mistake): Promise<void> {
  const said = await findings(plugin, options);
  const isSaid = (line: string) => (typeof expected === 'string' ? line === expected : expected.test(line));
  t.true(said.some(isSaid), `${plugin.name}: ${said.join('\n')}`);
  t.deepEqual(
    said.filter((line) => !isSaid(line)),
    [],
    plugin.name,
  );
}

/** Ends what the mistakes leave behind. */
export function clearMistakes(): void {
  for (const timer of mistakes.timers) clearTimeout(timer);
}
