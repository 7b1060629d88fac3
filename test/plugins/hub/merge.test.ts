import test from 'ava';
import fc from 'fast-check';
import { type HubGene, readGene } from '../../../plugins/hub/rules/hub-gene.ts';
import { mergeGenes } from '../../../plugins/hub/rules/merge.ts';

const geneOf = fc
  .record({
    geneId: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
    confidence: fc.constantFrom(0.1, 0.2, 0.3, 0.4, 0.5),
    contributorId: fc.constantFrom('x', 'y', 'z'),
  })
  .map((given) => readGene(given, '2030-01-01T00:00:00.000Z')!);

test('genes that are left out while answers come in would not be among the best of all', (t) => {
  const merged = (answers: readonly (readonly HubGene[])[], limit: number) =>
    answers.reduce<readonly HubGene[]>((best, genes) => mergeGenes(best, genes, {}, limit), []);
  fc.assert(
    fc.property(fc.array(fc.array(geneOf)), fc.integer({ min: 1, max: 8 }), (answers, limit) => {
      const expected = mergeGenes([], answers.flat(), {}, 1_000).slice(0, limit);
      t.deepEqual(merged(answers, limit), expected);
      t.deepEqual(merged(answers.toReversed(), limit), expected);
    }),
  );
});
