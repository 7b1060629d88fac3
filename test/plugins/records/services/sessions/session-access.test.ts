import test from 'ava';
import fc from 'fast-check';
import { maySee, ownerOf, storedName } from '../../../../../plugins/records/contract.ts';
import { messageTokens } from '../../../../../plugins/records/services/sessions/commit-turn.ts';
import {
  isSessionId,
  maySeeMark,
  ownerMark,
} from '../../../../../plugins/records/services/sessions/session-access.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';

const ASKED = { role: 'user', content: 'Hello?' };
const ANSWERED = { role: 'assistant', content: 'Hello!' };

test('the answer of one model call counts what the provider counted, everything else is estimated', (t) => {
  t.deepEqual(messageTokens([ASKED, ANSWERED], [{ outputTokens: 77 }]), [6, 77]);
  t.deepEqual(messageTokens([ASKED, ANSWERED], [{ outputTokens: 77 }, { outputTokens: 1 }]), [6, 6]);
  t.deepEqual(messageTokens([ASKED, ANSWERED], []), [6, 6]);
  t.deepEqual(messageTokens([ANSWERED, ASKED], [{ outputTokens: 77 }]), [6, 6]);
  t.deepEqual(messageTokens([], [{ outputTokens: 77 }]), []);
});

test('a stored name fits its column on every database, and different names stay different', (t) => {
  const name = fc.oneof(
    fc.string({ unit: anyCodePoint, maxLength: 400 }),
    fc.string({
      unit: fc.constantFrom('x', '\0', '\ud800', '\udc00', '\ufffd'),
      minLength: 240,
      maxLength: 300,
    }),
  );
  const fits = fc.property(name, name, (one, other) => {
    const [a, b] = [storedName(one), storedName(other)];
    return (
      [a, b].every((text) => text.length <= 255 && text.isWellFormed() && !text.includes('\0')) &&
      (a === b) === (one === other)
    );
  });
  fc.assert(fits, { numRuns: 2_000 });
  t.is(storedName('key-1'), 'key-1');
  t.is(storedName('x'.repeat(255)), 'x'.repeat(255));
});

test('the mark of an owner lets in whom its session would', (t) => {
  const name = fc.constantFrom('a', 'b', 'a b', '', 'x'.repeat(300), 'x\0', 'x\ud800');
  const reader = fc.record({
    identityId: name,
    userId: fc.option(name, { nil: undefined }),
    isAdmin: fc.boolean(),
  });
  const same = fc.property(name, name, reader, (identityId, userId, who) => {
    const owner = ownerOf({ tenantId: 't', identityId, userId });
    return maySeeMark(ownerMark(owner), who) === maySee(owner, who);
  });
  fc.assert(same, { numRuns: 2_000 });
  t.regex(ownerMark({ identityId: 'a', userId: 'b' }), /^[\w-]{43} [\w-]{43}$/);
});

test('an id is read in linear time', (t) => {
  const started = cpuNow();
  for (const text of ['a'.repeat(1_000_000), `${'.'.repeat(1_000_000)}/`, '\0'.repeat(1_000_000)])
    t.false(isSessionId(text));
  t.true(cpuNow() - started < 1_000);
});
