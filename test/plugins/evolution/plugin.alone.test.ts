import test from 'ava';
import conformance from '../../../plugins/evolution/conformance.ts';
import evolution from '../../../plugins/evolution/plugin.ts';
import { pluginConformance } from '../../../testing/index.ts';

for (const { title, run } of pluginConformance(evolution, conformance)) {
  test.serial(`conformance: ${title}`, async (t) => {
    await t.notThrowsAsync(run);
  });
}
