import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Agent, request } from 'undici';
import { assertSteady, print, type SoakGateway } from './soak-gateway.ts';

/** Milliseconds in which a saved resource has to be live. */
const MAX_DELAY = 300;
const WARM_UP = 50;
/** Looks are this far apart, in milliseconds: what is measured is late by that much at most. */
const LOOK = 2;

/** Saves a resource again and again: each time it is live in time, and the heap stays. */
export async function saveResources(gateway: SoakGateway, saves: number): Promise<void> {
  const agent = new Agent({ connections: 1 });
  const file = path.join(gateway.folder, 'agents.d', 'word.yaml');
  const read = async () => {
    const { body } = await request(`${gateway.url}/words/soaked`, { dispatcher: agent });
    return ((await body.json()) as { word: string | null }).word;
  };
  let count = 0;
  const save = async (): Promise<number> => {
    count += 1;
    const word = `word-${count}`;
    const text = `apiVersion: svc/v1\nkind: Word\nmetadata: {name: soaked}\nspec: {word: ${word}}\n`;
    // As editors save: in place, or a new file moved over the old one.
    if (count % 2 === 0) await writeFile(file, text);
    else {
      await writeFile(`${file}.tmp`, text);
      await rename(`${file}.tmp`, file);
    }
    const saved = performance.now();
    while ((await read()) !== word) {
      if (performance.now() - saved > 10_000) throw new Error(`save ${count} is not live after 10 s`);
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
    return performance.now() - saved;
  };
  const run = async (times: number) => {
    const delays: number[] = [];
    for (let index = 0; index < times; index += 1) delays.push(await save());
    return delays.sort((a, b) => a - b);
  };
  try {
    await run(WARM_UP);
    const before = await gateway.heap();
    const delays = await run(saves);
    const after = await gateway.heap();
    const at = (share: number) =>
      delays[Math.min(delays.length - 1, Math.floor(delays.length * share))]!.toFixed(0);
    print(`${saves} saves: live after ${at(0.5)} ms (median), ${at(0.99)} ms (99 %), ${at(1)} ms (longest)`);
    assertSteady(`${saves} saves`, before, after);
    const late = delays.filter((delay) => delay > MAX_DELAY);
    if (late.length > 0) throw new Error(`${late.length} of ${saves} saves took longer than ${MAX_DELAY} ms`);
  } finally {
    await agent.close();
  }
}
