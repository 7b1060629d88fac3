import test from 'ava';
import {
  askUser,
  currentTime,
  tellTime,
} from '../../../../../plugins/agent-engine/services/tools/builtin-tools.ts';
import { manualClock } from '../../../../../testing/manual-clock.ts';
import { toolContext } from '../tool-context.ts';

test('a question asks for text, or for one of its options', async (t) => {
  const common = { name: 'answer', label: 'Which?', required: true } as const;
  t.deepEqual(await askUser.invoke({ question: 'Which?' }, toolContext()), {
    question: { reason: 'Which?', fields: [{ ...common, type: 'text' }] },
  });
  t.deepEqual(await askUser.invoke({ question: 'Which?', options: ['a', 'b'] }, toolContext()), {
    question: { reason: 'Which?', fields: [{ ...common, type: 'select', options: ['a', 'b'] }] },
  });
});

const moment = Date.UTC(2030, 6, 1, 23, 30, 5);

for (const [zone, time, weekday] of [
  ['UTC', '2030-07-01T23:30:05+00:00', 'Monday'],
  ['Europe/Berlin', '2030-07-02T01:30:05+02:00', 'Tuesday'],
  ['America/New_York', '2030-07-01T19:30:05-04:00', 'Monday'],
  ['Asia/Kolkata', '2030-07-02T05:00:05+05:30', 'Tuesday'],
  ['Asia/Tehran', '2030-07-02T03:00:05+03:30', 'Tuesday'],
] as const) {
  test(`it is ${time} in ${zone}`, (t) => {
    t.like(tellTime(moment, zone), { time, weekday });
    t.is(Date.parse(time), moment);
  });
}

test('midnight is the hour 00', (t) => {
  t.is(tellTime(Date.UTC(2030, 0, 1), 'UTC')?.time, '2030-01-01T00:00:00+00:00');
});

test('the tool says UTC by default, and refuses what is no time zone', async (t) => {
  const tool = currentTime({ clock: manualClock(moment) });
  t.deepEqual(await tool.invoke({}, toolContext()), {
    content: '{"time":"2030-07-01T23:30:05+00:00","timezone":"UTC","weekday":"Monday"}',
  });
  for (const timezone of ['Mars/Olympus', '', '../etc'])
    t.like(await tool.invoke({ timezone }, toolContext()), { isError: true });
});
