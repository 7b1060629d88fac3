import test from 'ava';
import { sample } from '../../support/sample.ts';
import { clearMistakes, isFound, MISTAKES } from './found-mistakes.ts';

test.after.always(clearMistakes);

test('the suite says each mistake of the trial in one line, and nothing else of the plugin', async (t) => {
  t.timeout(600_000);
  for (const mistake of sample(t, MISTAKES, 12)) await isFound(t, mistake);
});
