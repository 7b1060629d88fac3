import {
  type Sandbox,
  SandboxErrors,
  type SandboxLanguage,
  type SandboxPolicies,
  type SandboxPolicy,
  type SandboxResult,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ToolSource,
} from '../../contract.ts';
import { MAX_CODE_BYTES, MAX_STDIN_BYTES, SANDBOX_LANGUAGES } from '../sandbox/engine.ts';
import { builtinTool } from './builtin-tool.ts';

/** What the model calls the tool. */
export const EXECUTE_CODE = 'execute_code';

/** Seconds, where the model names none and the policy allows so much. */
const DEFAULT_TIMEOUT_SECONDS = 30;

/** What the tool works with. */
export interface ExecuteCodeOptions {
  readonly sandbox: Sandbox;
  readonly policies: Pick<SandboxPolicies, 'of'>;
  /** Milliseconds beyond the code's own time: its turn, the start of a container, and its end. */
  readonly overheadMs: number;
}

/**
 * The tool that runs code in the sandbox. It is not offered where the deployment has no sandbox or the tenant's policy
 * forbids code. The policy also clamps time and output, and may take the network away. It is read again at each call,
 * which throws `sandbox.forbidden` when it forbids what it allowed when the tool was offered.
 */
export function executeCode({ sandbox, policies, overheadMs }: ExecuteCodeOptions): ToolSource {
  async function list(tenantId: string): Promise<readonly Tool[]> {
    if (sandbox.mode === undefined) return [];
    const offered = await policies.of(tenantId);
    if (!allowsCode(offered, sandbox.mode)) return [];
    const tool = builtinTool({
      name: EXECUTE_CODE,
      description: describe(offered, sandbox.mode),
      properties: properties(offered.maxTimeoutSeconds),
      required: ['language', 'code'],
      timeoutMs: offered.maxTimeoutSeconds * 1000 + overheadMs,
      async invoke(input, context) {
        const policy = await policies.of(tenantId);
        if (!allowsCode(policy, sandbox.mode)) throw SandboxErrors.forbidden();
        return toToolResult(await sandbox.run(toJob(tenantId, policy, input, context)));
      },
    });
    return [tool];
  }
  return { prefix: 'builtin/', list };
}

/** True where the policy lets code run in a sandbox of this kind. */
export function allowsCode(policy: SandboxPolicy, mode: Sandbox['mode']): boolean {
  if (!policy.enabled || mode === undefined) return false;
  if (mode === 'docker' && !policy.allowDocker) return false;
  return policy.allowedTools === null || policy.allowedTools.includes(EXECUTE_CODE);
}

function toJob(
  tenantId: string,
  policy: SandboxPolicy,
  input: Readonly<Record<string, unknown>>,
  { signal }: ToolContext,
) {
  const { language, code, stdin, timeout_seconds } = input as {
    readonly language: SandboxLanguage;
    readonly code: string;
    readonly stdin?: string;
    readonly timeout_seconds?: number;
  };
  const seconds = Math.min(timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS, policy.maxTimeoutSeconds);
  return {
    tenantId,
    language,
    code,
    ...(stdin === undefined ? {} : { stdin }),
    timeoutMs: seconds * 1000,
    maxOutputBytes: policy.maxOutputKb * 1024,
    allowNetwork: !policy.restrictNetwork,
    signal,
  };
}

function toToolResult({ exitCode, isTruncated, durationMs, ...result }: SandboxResult): ToolResult {
  const { status, stdout, stderr } = result;
  const said = {
    status,
    exit_code: exitCode,
    stdout,
    stderr,
    truncated: isTruncated,
    duration_ms: durationMs,
  };
  return { content: JSON.stringify(said), isError: status !== 'success', isTimeout: status === 'timeout' };
}

function describe({ restrictNetwork, maxTimeoutSeconds }: SandboxPolicy, mode: Sandbox['mode']): string {
  const network = restrictNetwork || mode === 'local' ? 'There is no network. ' : '';
  return (
    'Runs a program in a fresh, isolated sandbox and returns its exit code, stdout and stderr as JSON. ' +
    'Print what you want to see. Files may be written to the current folder and /tmp, and are gone afterwards. ' +
    `${network}It is ended after ${maxTimeoutSeconds} seconds at most.`
  );
}

function properties(maxTimeoutSeconds: number) {
  return {
    language: {
      type: 'string',
      enum: SANDBOX_LANGUAGES,
      description: 'Python 3, JavaScript for Node.js, or a shell script',
    },
    code: { type: 'string', minLength: 1, maxLength: MAX_CODE_BYTES, description: 'The whole program' },
    stdin: {
      type: 'string',
      maxLength: MAX_STDIN_BYTES,
      description: 'What the program reads from standard input',
    },
    timeout_seconds: {
      type: 'number',
      exclusiveMinimum: 0,
      description: `Seconds that the program may take; ${Math.min(DEFAULT_TIMEOUT_SECONDS, maxTimeoutSeconds)} by default, ${maxTimeoutSeconds} at most`,
    },
  };
}
