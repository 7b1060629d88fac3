import { Type } from 'agent-gateway';

/** Settings of evolution: none so far, since what is shared is a policy that administrators write. */
export const EvolutionConfig = Type.Object({});
