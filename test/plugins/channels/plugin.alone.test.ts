import test from 'ava';
import conformance from '../../../plugins/channels/conformance.ts';
import channels from '../../../plugins/channels/plugin.ts';
import { pluginConformance } from '../../../testing/index.ts';

for (const { title, run } of pluginConformance(channels, conformance)) {
  test.serial(`conformance: ${title}`, async (t) => {
    await t.notThrowsAsync(run);
  });
}
