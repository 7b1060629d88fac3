import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { createChatMessages } from '../../../../../plugins/runtime/services/v3-chat/chat-messages.ts';

for (const [given, shown] of [
  ['{"city":"Bern"}', { city: 'Bern' }],
  ['null', null],
  ['{"city":', '{"city":'],
  ['', ''],
] as const) {
  test(`a call with the arguments ${given || 'of no characters'} is shown with ${JSON.stringify(shown)}`, (t) => {
    const messages = createChatMessages({ clock: systemClock, ids: createIds(systemClock) });
    const [event] = messages.events({
      type: 'tool_call',
      id: 'call_1',
      name: 'weather',
      arguments: given,
      agentPath: [],
    });
    t.deepEqual(JSON.parse(event?.message.content ?? ''), {
      name: 'weather',
      arguments: shown,
      tool_call_id: 'call_1',
    });
  });
}
