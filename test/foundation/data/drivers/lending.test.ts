import test from 'ava';
import { Lending } from '../../../../foundation/data/drivers/lending.ts';

const full = () => Object.assign(new Error('sorry, too many clients already'), { code: '53300' });

/** A server that gives so many connections, and a pool that fails whoever asks for more. */
function pool(given: number) {
  const lending = new Lending();
  let free = given;
  return {
    lend: () =>
      lending.lend(async () => {
        if (free === 0) throw full();
        free -= 1;
        return {};
      }),
    giveBack: () => {
      free += 1;
      lending.cameBack();
    },
    /** A connection comes back broken, and the server gives no other. */
    lose: () => lending.cameBack(),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('who gets none waits for one that is lent, in order of arrival', async (t) => {
  const { lend, giveBack } = pool(1);
  await lend();
  const got: number[] = [];
  const both = [1, 2].map((who) => lend().then(() => got.push(who)));
  await settled();
  t.deepEqual(got, []);
  giveBack();
  await settled();
  t.deepEqual(got, [1]);
  giveBack();
  await Promise.all(both);
  t.deepEqual(got, [1, 2]);
});

test('where none is lent it is told at once', async (t) => {
  await t.throwsAsync(pool(0).lend(), { code: '53300' });
});

test('where the last one does not come back nobody waits for it', async (t) => {
  const { lend, lose } = pool(1);
  await lend();
  const all = [1, 2, 3].map(() => t.throwsAsync(lend(), { code: '53300' }));
  await settled();
  lose();
  t.is((await Promise.all(all)).length, 3);
});

test('other failures are told at once', async (t) => {
  const lending = new Lending();
  await lending.lend(async () => ({}));
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  await t.throwsAsync(
    lending.lend(() => Promise.reject(refused)),
    { code: 'ECONNREFUSED' },
  );
});
