import test from 'ava';
import fc from 'fast-check';
import { ModelErrors } from '../../../../../plugins/agent-engine/contract.ts';
import {
  admit,
  type CircuitState,
  CLOSED,
  evidenceOf,
  learn,
} from '../../../../../plugins/agent-engine/services/models/circuit.ts';

const RULES = { failures: 3, openMs: 1000 };
const OPEN: CircuitState = { failures: 3, openUntil: 1000 };

function fail(state: CircuitState, now: number): CircuitState {
  return learn(state, 'regular', 'fails', now, RULES);
}

test('it opens after so many failures in a row, and any answer starts the count anew', (t) => {
  const two = fail(fail(CLOSED, 0), 0);
  t.is(two.openUntil, undefined);
  t.is(fail(two, 50).openUntil, 1050);
  const answered = learn(two, 'regular', 'answers', 0, RULES);
  t.is(fail(fail(answered, 0), 0).openUntil, undefined);
  t.is(learn(two, 'regular', 'none', 0, RULES), two);
});

test('while it is open nothing passes but one probe in each pause', (t) => {
  t.is(admit(OPEN, 999, RULES), undefined);
  const probe = admit(OPEN, 1000, RULES);
  t.is(probe?.admission, 'probe');
  t.is(admit(probe!.state, 1001, RULES), undefined);
  // A probe that hangs keeps nobody out for longer than a pause.
  t.is(admit(probe!.state, 2000, RULES)?.admission, 'probe');
});

test('a probe closes it, opens it again, or makes room for another', (t) => {
  const { state } = admit(OPEN, 1000, RULES)!;
  t.is(learn(state, 'probe', 'answers', 1500, RULES), CLOSED);
  t.is(learn(state, 'probe', 'fails', 1500, RULES).openUntil, 2500);
  const left = learn(state, 'probe', 'none', 1500, RULES);
  t.is(admit(left, 1500, RULES)?.admission, 'probe');
});

test('calls that began before it opened do not keep it open, but may close it', (t) => {
  t.is(fail(OPEN, 900), OPEN);
  t.is(learn(OPEN, 'regular', 'answers', 900, RULES), CLOSED);
});

test('only the provider’s own failures are failures', (t) => {
  const cause = new Error('said so');
  t.is(evidenceOf(ModelErrors.upstream()), 'fails');
  t.is(evidenceOf(ModelErrors.timeout()), 'fails');
  // Status 401, and others that another attempt would not change.
  t.is(evidenceOf(ModelErrors.upstream('no', { retryable: false })), 'answers');
  t.is(evidenceOf(ModelErrors.rejected('no', { cause })), 'answers');
  t.is(evidenceOf(ModelErrors.rateLimited()), 'answers');
  t.is(evidenceOf(ModelErrors.unknownToProvider()), 'answers');
  t.is(evidenceOf(ModelErrors.rejected('never sent')), 'none');
  t.is(evidenceOf(ModelErrors.aborted()), 'none');
  t.is(evidenceOf(ModelErrors.overloaded()), 'none');
  t.is(evidenceOf(new Error('a mistake')), 'none');
  t.is(evidenceOf(undefined), 'none');
});

test('it never stays closed to a provider that has come back: after every history a call passes within one pause', (t) => {
  const step = fc.record({
    evidence: fc.constantFrom('answers', 'fails', 'none'),
    wait: fc.integer({ min: 0, max: 1500 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let state = CLOSED;
      let now = 0;
      for (const { evidence, wait } of steps) {
        now += wait;
        const entry = admit(state, now, RULES);
        if (entry === undefined) continue;
        state = learn(entry.state, entry.admission, evidence as 'fails', now, RULES);
      }
      return admit(state, now + RULES.openMs, RULES) !== undefined;
    }),
  );
  t.pass();
});
