import test from 'ava';
import conformance from '../../../plugins/hub/conformance.ts';
import hub from '../../../plugins/hub/plugin.ts';
import { pluginConformance } from '../../../testing/index.ts';

for (const { title, run } of pluginConformance(hub, conformance)) {
  test.serial(`conformance: ${title}`, async (t) => {
    await t.notThrowsAsync(run);
  });
}
