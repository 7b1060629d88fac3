/** What a run looks like: ten steps one after the other, or ten at one time and a join. Each step does nothing. */
export type Shape = 'chain' | 'fan';

/** Steps of one run that count. */
export const STEPS = 10;

/** What a contender is asked to do. */
export interface Order {
  readonly shape: Shape;
  /** Runs at one time. */
  readonly concurrency: number;
  readonly milliseconds: number;
}

/** What a contender did in the time of an order. */
export interface Score {
  readonly stepsPerSecond: number;
  /** Milliseconds of a run, from its start to its end. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of CPU of the contender's process (not of the database) a step. */
  readonly cpu: number;
}

/** A way to run steps durably. */
export interface Contender {
  /** Runs one run to its end. */
  run(shape: Shape): Promise<void>;
  close(): Promise<void>;
}

/** Serves orders of the parent process until it sends `end`. */
export async function serve(open: () => Promise<Contender>): Promise<void> {
  // The parent is gone: no more orders will come.
  process.once('disconnect', () => process.exit(1));
  const contender = await open();
  process.on('message', (order: Order | 'end') => {
    if (order === 'end') {
      void contender.close().then(() => process.exit(0));
      return;
    }
    void measure(contender, order).then(
      (score) => process.send?.(score),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  });
  process.send?.('ready');
}

async function measure(contender: Contender, { shape, concurrency, milliseconds }: Order): Promise<Score> {
  await Promise.all(Array.from({ length: concurrency }, () => contender.run(shape)));
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const began = performance.now();
  const until = began + milliseconds;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < until) {
        const start = performance.now();
        await contender.run(shape);
        latencies.push(performance.now() - start);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const used = process.cpuUsage(cpu);
  const steps = latencies.length * STEPS;
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    stepsPerSecond: steps / seconds,
    p50: at(0.5),
    p99: at(0.99),
    cpu: (used.user + used.system) / steps,
  };
}
