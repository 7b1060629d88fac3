import { definePlugin } from 'agent-gateway';
import { ToolsPoint } from 'agent-gateway/contracts/agent-engine';
import { NodeTypesPoint } from 'agent-gateway/contracts/workflow';
import { shortenNode } from './node-types/shorten.ts';
import { tools } from './tools/count-words.ts';

export default definePlugin({
  name: 'textkit',
  summary: 'Textkit',
  version: '0.1.0',
  kernel: '^1.0.0',
  setup(scope) {
    scope.contribute(ToolsPoint, tools);
    scope.contribute(NodeTypesPoint, shortenNode);
  },
});
