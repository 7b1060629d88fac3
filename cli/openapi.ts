import { ConfigurationError } from '../foundation/config/configuration-error.ts';
import { readKernelSettings } from '../foundation/config/kernel-settings.ts';
import { processEnvironment } from '../foundation/config/read-config.ts';
import type { Outcome } from './outcome.ts';
import { rehearse } from './rehearsal.ts';

/** `saas-api openapi`: the document that `GET /v1/openapi` of this deployment would give. */
export async function main(): Promise<Outcome> {
  try {
    const env = processEnvironment();
    await using rehearsal = await rehearse({ settings: readKernelSettings(env), env });
    const { problems } = rehearsal;
    if (problems.length > 0) return failed(problems.join('\n'));
    return { code: 0, out: `${JSON.stringify(rehearsal.openapi(), null, 2)}\n`, err: '' };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return failed(error.message);
  }
}

function failed(problems: string): Outcome {
  return { code: 1, out: '', err: `The deployment could not be described:\n${problems}\n` };
}
