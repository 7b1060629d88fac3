import { definePlugin } from 'agent-gateway';
import Type from 'typebox';
import { NodeTypesPoint } from '../../../../../plugins/workflow/contract.ts';

/** A step that does nothing, so that what is measured is the engine. */
export default definePlugin({
  name: 'bench',
  summary: 'A node type that does nothing, for the benchmark of the workflow engine',
  kernel: '^1.0.0',
  setup(scope) {
    scope.contribute(NodeTypesPoint, {
      type: 'bench/noop',
      summary: 'Does nothing',
      config: Type.Object({ n: Type.Optional(Type.Number()) }, { additionalProperties: false }),
      execute: async ({ input }) => ({ output: { n: input.n ?? 0 } }),
    });
  },
});
