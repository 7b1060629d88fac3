import { DBOS } from '@dbos-inc/dbos-sdk';
import { type Contender, type Shape, STEPS, serve } from './contender.ts';

/*
 * DBOS Transact, as its documentation shows it: a workflow function whose steps are checkpointed in PostgreSQL.
 */

const noop = async (n: number) => ({ n });

const chain = DBOS.registerWorkflow(
  async (input: object) => {
    let last: object = input;
    for (let n = 0; n < STEPS; n += 1) last = await DBOS.runStep(() => noop(n), { name: `step-${n}` });
    return last;
  },
  { name: 'chain' },
);

const fan = DBOS.registerWorkflow(
  async (_input: object) =>
    Promise.all(Array.from({ length: STEPS }, (_, n) => DBOS.runStep(() => noop(n), { name: `step-${n}` }))),
  { name: 'fan' },
);

await serve(async (): Promise<Contender> => {
  DBOS.setConfig({
    name: 'workflow-bench',
    systemDatabaseUrl: process.env.BENCH_DATABASE_URL!,
    logLevel: 'error',
  });
  await DBOS.launch();
  return {
    async run(shape: Shape) {
      const handle =
        shape === 'chain'
          ? await DBOS.startWorkflow(chain)({ order: 1 })
          : await DBOS.startWorkflow(fan)({ order: 1 });
      await handle.getResult();
    },
    close: () => DBOS.shutdown(),
  };
});
