import { renameSync, writeFileSync } from 'node:fs';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/*
 * Imported before a gateway: on SIGUSR2 it writes into the file `OLD_GENERATION_FILE` how many bytes the old generation
 * holds, garbage included, and how many full collections there were, which free such garbage. The first time it
 * collects what the start has left.
 */

// Not by `--expose-gc`: with it the gateway collects by itself whenever it takes the process for idle.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

// A process that is held up by others passes for idle, and would collect in the middle of a measurement.
setFlagsFromString('--no-memory-reducer');

let collections = 0;
new PerformanceObserver((list) => {
  const entries = list.getEntries() as unknown as readonly { readonly detail: { readonly kind: number } }[];
  for (const { detail } of entries) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1;
}).observe({ entryTypes: ['gc'] });

process.once('SIGUSR2', () => collect());
process.on('SIGUSR2', () => {
  const bytes = getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith('new_'))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  const file = process.env.OLD_GENERATION_FILE!;
  writeFileSync(`${file}.new`, JSON.stringify({ bytes, collections }));
  renameSync(`${file}.new`, file);
});
