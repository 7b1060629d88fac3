import test from 'ava';
import { openSubscriptions } from '../../../../foundation/messages/durable-events/subscriptions.ts';

test('a database that has gone silent does not hold up the end', async (t) => {
  let isSilent = false;
  const database = {
    now: () => (isSilent ? new Promise(() => {}) : Promise.resolve(0)),
    system: () => ({ find: () => Promise.resolve([]) }),
  };
  const events = { emit: () => {}, on: () => () => {}, onMissed: () => () => {} };
  const subscriptions = await openSubscriptions({
    database: database as never,
    events: events as never,
    onTrouble: () => t.fail(),
  });
  isSilent = true;
  subscriptions.add({ queue: 'mail.welcome', event: 'people.joined', attempts: 1 });

  await subscriptions.close();

  t.pass();
});
