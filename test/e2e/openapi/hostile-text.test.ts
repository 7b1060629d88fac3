import test from 'ava';
import { sampledGatewayDatabase } from '../../support/databases.ts';
import { isWhole, SEED } from '../../support/sample.ts';
import { send, startAll } from './all-plugins.ts';
import { operationsOf } from './contract.ts';
import type { Input } from './inputs.ts';
import { storyPlugin, successes } from './successes.ts';

/** Text that is no id, name or key, and that not every database keeps. */
const HOSTILE = ['\0', 'a\0b', '\ud800', 'b\udc00', "'\0;--", 'x'.repeat(70_000)];
/** What a path can say: no half of a surrogate pair, and no more than the parser takes. */
const IN_URLS = ['\0', 'a\0b', "'\0;--", 'x'.repeat(3_000), '\uffff', '../..', '%00'];

type Path = readonly (string | number)[];

/** The places of texts in a value. */
function textsIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, [...path, name]));
}

function withText(value: unknown, [name, ...rest]: Path, text: string): unknown {
  if (name === undefined) return text;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string, unknown>)[name] = withText((value as Record<string, unknown>)[name], rest, text);
  return copy;
}

/** A generator of choices that a seed repeats. */
function choices(seed: number) {
  let state = seed;
  return <T>(from: readonly T[]): T => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return from[(state >>> 8) % from.length]!;
  };
}

/** An input that succeeds with one text after the other exchanged. */
function* spoiled(input: Input, choose: ReturnType<typeof choices>): Generator<Input> {
  for (const place of ['params', 'query'] as const) {
    for (const name of Object.keys(input[place] ?? {}))
      yield { ...input, [place]: { ...input[place], [name]: choose(IN_URLS) } };
  }
  if (typeof input.body === 'string') return;
  for (const path of textsIn(input.body)) {
    for (const text of isWhole ? HOSTILE : [choose(HOSTILE)])
      yield { ...input, body: withText(input.body, path, text) };
  }
}

sampledGatewayDatabase(
  test,
  'no text makes an operation fail, wherever it stands',
  async (t, { environment }) => {
    t.timeout(360_000);
    const story = storyPlugin();
    const gateway = await startAll(story.plugin, environment as Record<string, string>);
    t.teardown(gateway.stop);
    const operations = operationsOf((await gateway.request('/v1/openapi')).body);
    const choose = choices(SEED);
    const problems: string[] = [];
    const known: Record<string, string> = {};
    let sent = 0;
    for (const [key, makeInput, learn] of successes(gateway, story.turns)) {
      const operation = operations.find((one) => one.key === key)!;
      const input = await makeInput(known);
      for (const spoilt of spoiled(input, choose)) {
        const { status, text } = await send(gateway, operation, spoilt);
        sent += 1;
        if (status >= 500) problems.push(`${key} ${JSON.stringify(spoilt).slice(0, 300)}: ${status} ${text}`);
      }
      // Made anew: what a spoilt input made may have a name that has to be unique.
      const { status, headers, text } = await send(gateway, operation, await makeInput(known));
      if (status >= 400) problems.push(`${key} afterwards: ${status} ${text}`);
      else
        await learn?.(known, /json/.test(headers.get('content-type') ?? '') ? JSON.parse(text) : undefined);
    }
    t.log(`${sent} inputs, TEST_SEED=${SEED}`);
    t.true(sent > 100);
    t.deepEqual(problems, []);
    // The story has a job that never works.
    const failures = gateway.logs().filter((line) => /"level":"(error|fatal)"/.test(line));
    t.deepEqual(
      failures.filter((line) => !line.includes('story.lost')),
      [],
    );
  },
);
