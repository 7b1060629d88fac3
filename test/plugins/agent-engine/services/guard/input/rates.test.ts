import test from 'ava';
import { guardRates, readCorpus } from '../../../../../corpus/prompt-injection/rates.ts';

test('the corpus is large, and no text is in it twice', async (t) => {
  const samples = await readCorpus();
  const count = (label: string) => samples.filter((sample) => sample.label === label).length;
  t.true(count('attack') >= 400);
  t.true(count('benign') >= 1500);
  t.is(new Set(samples.map(({ text }) => text)).size, samples.length);
  t.true(new Set(samples.map(({ language }) => language)).size >= 15);
});

test('the held-out half keeps the floor of attacks caught and the ceiling of harmless texts refused', async (t) => {
  t.deepEqual((await guardRates()).failures, []);
});
