import test from 'ava';
import fc from 'fast-check';
import { confidence } from '../../../../plugins/evolution/rules/confidence.ts';
import {
  type GeneKnowledge,
  learned,
  type NewUses,
  NO_KNOWLEDGE,
} from '../../../../plugins/evolution/rules/gene.ts';

const count = fc.nat(20);
const evidence = fc.record({
  wins: fc.double({ min: 0, max: 14, noNaN: true }),
  losses: fc.double({ min: 0, max: 14, noNaN: true }),
});
const fresh: fc.Arbitrary<NewUses> = fc
  .record({
    uses: count,
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    sessions: fc.array(fc.constantFrom('a', 'b', 'c')),
  })
  .map(({ uses, part, sessions }) => ({
    uses,
    successes: Math.floor(uses * part),
    sessions,
    advised: 0,
    succeeded: 0,
  }));
const GOOD = { wins: 8, losses: 0 };
const uses = (successes: number, ...sessions: readonly string[]): NewUses => ({
  uses: successes,
  successes,
  sessions,
  advised: 0,
  succeeded: 0,
});

test('a gene is promoted after 3 successes in 2 sessions, not sooner', (t) => {
  const state = (given: NewUses) => learned(NO_KNOWLEDGE, GOOD, given, 0.5).state;
  t.is(state(uses(2, 'a', 'b')), 'candidate');
  t.is(state(uses(3, 'a', 'a')), 'candidate');
  t.is(state(uses(3, 'a', 'b')), 'promoted');
});

test('a promoted gene that fails is quarantined, and comes back when it works again', (t) => {
  const promoted = learned(NO_KNOWLEDGE, GOOD, uses(3, 'a', 'b'), 0.5);
  const failed = learned(promoted, { wins: 0.5, losses: 8 }, uses(0), 0.5);
  t.is(failed.state, 'quarantined');
  t.is(learned(failed, GOOD, uses(1, 'a'), 0.5).state, 'promoted');
});

test('what an operator has decided, and a revocation, stay whatever happens', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom('promoted' as const, 'quarantined' as const, 'candidate' as const),
      evidence,
      fresh,
      (state, now, given) => {
        const validation = { ...NO_KNOWLEDGE.validation, decidedBy: 'operator' as const };
        return learned({ ...NO_KNOWLEDGE, state, validation }, now, given, 0.5).state === state;
      },
    ),
  );
  const revoked: GeneKnowledge = { ...NO_KNOWLEDGE, state: 'revoked' };
  t.is(learned(revoked, GOOD, uses(9, 'a', 'b'), 0.5).state, 'revoked');
});

test('counts add up and never shrink; a promoted gene is trusted, or was not long ago', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(evidence, fresh), { maxLength: 12 }), (steps) => {
      let gene = NO_KNOWLEDGE;
      for (const [now, given] of steps) {
        const next = learned(gene, now, given, 0.5);
        if (next.useCount !== gene.useCount + given.uses) return false;
        if (next.successCount > next.useCount || next.sessions.length > 2) return false;
        if (next.state === 'promoted' && confidence(now) < 0.4) return false;
        gene = next;
      }
      return true;
    }),
  );
  t.pass();
});
