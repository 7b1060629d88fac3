import test from 'ava';
import fc from 'fast-check';
import { systemClock } from '../../../foundation/base/clock.ts';
import { buildOrder, wayAround } from '../../../foundation/resources/build-order.ts';
import { parseSourceFile, type SourceFile, unreadable } from '../../../foundation/resources/document.ts';
import { KindSlot } from '../../../foundation/resources/kind-slot.ts';
import { LiveResources } from '../../../foundation/resources/live-resources.ts';
import { RESOURCE_LIMITS, RESOURCE_TIMES } from '../../../foundation/resources/resources.ts';
import { memoryLog, type Thing, thing, thingKind } from './things.ts';

/** The files of a moment: text, or undefined for one that cannot be read. */
type Files = ReadonlyMap<string, string | undefined>;

const name = fc.constantFrom('a', 'b', 'c', 'd');
const names = fc.uniqueArray(name, { maxLength: 2 });
const good = fc
  .record({
    name,
    spec: fc.record(
      {
        text: fc.constantFrom('x', 'y'),
        needs: names,
        likes: names,
        mentions: names,
        fails: fc.constant(true),
      },
      { requiredKeys: ['text'] },
    ),
  })
  .map((made) => thing(made.name, made.spec));
const bad = fc.oneof(
  name.map((made) => thing(made, { text: '' })),
  fc.constant('kind: ['),
  fc.constant('a: b'),
  name.map((made) => thing(made, { text: 'x' }, 'Unknown')),
);
const text = fc
  .array(fc.oneof({ weight: 5, arbitrary: good }, { weight: 1, arbitrary: bad }), { maxLength: 3 })
  .map((documents) => `# file\n${documents.join('---\n')}`);
const edit = fc.record({
  file: fc.constantFrom('1.yaml', '2.yaml', '3.yaml'),
  /** `null` deletes it, undefined makes it unreadable. */
  text: fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: fc.constantFrom(null, undefined) }),
});

function createLive() {
  const { log } = memoryLog();
  const live = new LiveResources({ limits: RESOURCE_LIMITS, times: RESOURCE_TIMES, clock: systemClock, log });
  const disposed: string[] = [];
  const slot = () => new KindSlot(thingKind({ built: [], disposed }), log);
  return { live, slot, disposed };
}

function parse(files: Files): SourceFile[] {
  return [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, content]) =>
      content === undefined ? unreadable(path, 'no') : parseSourceFile(path, content),
    );
}

async function load(live: LiveResources, files: Files, slot: KindSlot): Promise<void> {
  live.publish(await live.stage(parse(files), new Map([['Thing', slot]]), true));
}

const hashes = (live: LiveResources) =>
  new Map([...live.entries].map(([id, { version }]) => [id, version.step.document.hash]));

test('any sequence of edits leads to what a fresh load gives, and beyond it only last good versions', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(edit, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (edits, replaced) => {
        const { live, slot } = createLive();
        const kind = slot();
        const files = new Map<string, string | undefined>();
        for (const { file, text: content } of edits) {
          if (content === null) files.delete(file);
          else files.set(file, content);
          await load(live, files, kind);
        }
        const last = replaced ? slot() : kind;
        if (replaced) await load(live, files, last);
        const fresh = createLive();
        await load(fresh.live, files, fresh.slot());

        // What the files say is live, exactly so.
        const now = hashes(live);
        for (const [id, hash] of hashes(fresh.live)) if (now.get(id) !== hash) return false;
        const refused = new Set([...live.refusals.keys()].map(({ id }) => id));
        const declared = new Set(parse(files).flatMap(({ documents }) => documents.map(({ id }) => id)));
        const isUnclear = parse(files).some(
          ({ problems, documents }) => problems.length > 0 || documents.some(({ id }) => id === undefined),
        );
        for (const [id, { version }] of live.entries) {
          const isLastGood = refused.has(id) || (!declared.has(id) && isUnclear);
          if (isLastGood) continue;
          // Everything else was built with what is live now, and not with something older.
          for (const [needed, dependency] of version.dependencies) {
            if (live.entries.get(needed)?.version !== dependency) return false;
          }
        }
        // Nothing that is in use was disposed, and all of it belongs to the plugin that runs.
        return [...live.entries.values()].every(
          ({ version }) => !isDisposed(version.value as Thing) && version.step.slot === last,
        );
      },
    ),
    { numRuns: 300 },
  );
  t.pass();
});

test('every value is disposed once when everything is gone', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
      const { live, slot } = createLive();
      const kind = slot();
      const files = new Map<string, string | undefined>();
      for (const { file, text: content } of edits) {
        if (content === null) files.delete(file);
        else files.set(file, content);
        await load(live, files, kind);
      }
      await load(live, new Map(), kind);
      await live.retire(kind);
      return kind.versions.size === 0;
    }),
    { numRuns: 200 },
  );
  t.pass();
});

test('the order in which files were written makes no difference', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 3, maxLength: 3 }), async (edits) => {
      const files = new Map(edits.map(({ file, text: content }) => [file, content ?? undefined]));
      const one = createLive();
      await load(one.live, files, one.slot());
      const other = createLive();
      await load(other.live, new Map([...files].reverse()), other.slot());
      return JSON.stringify([...hashes(one.live)].sort()) === JSON.stringify([...hashes(other.live)].sort());
    }),
    { numRuns: 100 },
  );
  t.pass();
});

test('nothing is built when nothing changed', async (t) => {
  const { log } = memoryLog();
  const built: string[] = [];
  const live = new LiveResources({ limits: RESOURCE_LIMITS, times: RESOURCE_TIMES, clock: systemClock, log });
  const slot = new KindSlot(thingKind({ built, disposed: [] }), log);
  const files = new Map([
    ['1.yaml', thing('a', { text: 'a', needs: ['b'] })],
    ['2.yaml', thing('b', { text: 'b' })],
  ]);
  await load(live, files, slot);
  await load(live, files, slot);
  // Comments and form are no content, nor is the file that it stands in.
  await load(
    live,
    new Map([
      ['0.yaml', `# moved\n\n${files.get('2.yaml')}`],
      ['1.yaml', files.get('1.yaml')!],
    ]),
    slot,
  );
  t.deepEqual(built, ['b:b', 'a:a']);
  t.is(live.entries.get('Thing/b')?.file, '0.yaml');
});

function isDisposed({ isDisposed: own, parts }: Thing): boolean {
  return own || parts.some(isDisposed);
}

const graph = fc
  .array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 })
  .map(
    (edges) =>
      new Map(
        Array.from({ length: 8 }, (_, node) => [
          `n${node}`,
          edges.filter(([from]) => from === node).map(([, to]) => `n${to}`),
        ]),
      ),
  );

/** Everything that can be reached from a node in one step or more. */
function reach(needs: ReadonlyMap<string, readonly string[]>, from: string): Set<string> {
  const found = new Set<string>();
  const open = [...(needs.get(from) ?? [])];
  for (const node of open) {
    if (found.has(node)) continue;
    found.add(node);
    open.push(...(needs.get(node) ?? []));
  }
  return found;
}

test('everything comes after what it needs, and what needs itself is in a circle with a way around it', (t) => {
  fc.assert(
    fc.property(graph, (needs) => {
      const { order, circles } = buildOrder(needs);
      const inCircle = new Set(circles.flat());
      t.is(order.length + inCircle.size, needs.size);
      for (const [at, node] of order.entries()) {
        t.false(reach(needs, node).has(node));
        for (const need of needs.get(node)!) t.true(inCircle.has(need) || order.indexOf(need) < at);
      }
      for (const circle of circles) {
        for (const node of circle) {
          const way = wayAround(node, new Set(circle), needs);
          t.is(way[0], node);
          t.is(way.at(-1), node);
          for (const [index, step] of way.slice(1).entries()) t.true(needs.get(way[index]!)!.includes(step));
        }
      }
    }),
  );
});

test('the order depends on the graph alone', (t) => {
  fc.assert(
    fc.property(graph, (needs) => {
      t.deepEqual(buildOrder(new Map([...needs].reverse())), buildOrder(needs));
    }),
  );
});

test('a chain of ten thousand is ordered', (t) => {
  const needs = new Map(Array.from({ length: 10_000 }, (_, at) => [`n${at}`, [`n${at + 1}`]]));
  const { order, circles } = buildOrder(needs);
  t.deepEqual([order.length, order[0], order.at(-1), circles], [10_000, 'n9999', 'n0', []]);
});

test('needs that are no nodes do not count', (t) => {
  t.deepEqual(buildOrder(new Map([['a', ['elsewhere']]])), { order: ['a'], circles: [] });
});
