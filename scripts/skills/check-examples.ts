import type { Tool } from '../../plugins/agent-engine/contract.ts';
import {
  type ArgumentCheck,
  createArgumentCheck,
} from '../../plugins/agent-engine/services/tools/argument-check.ts';
import { toolContext } from '../../test/plugins/agent-engine/services/tool-context.ts';
import { type ExampleCall, partsOf } from './skill-parts.ts';

/**
 * The tools that give the same answer each time. Examples show no results of other tools: this check could not verify
 * them.
 */
export const REPEATABLE: ReadonlySet<string> = new Set(['calculator', 'execute_code']);

/** What the check of the examples needs. */
export interface ExampleParts {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly skills: ReadonlySet<string>;
  /** False where code cannot be run: then only the form of such calls is checked. */
  readonly runsCode: boolean;
}

/** Makes a check that carries out the worked example of a body, and returns its problems in words. */
export function createExampleCheck({ tools, skills, runsCode }: ExampleParts) {
  const checkArguments = createArgumentCheck();

  async function callProblems(call: ExampleCall): Promise<string[]> {
    const at = `line ${call.line} of the body, ${call.tool}`;
    const tool = tools.get(call.tool);
    if (tool === undefined) return [`${at}: there is no such tool`];
    const formal = formProblem(call, tool, checkArguments, skills);
    if (formal !== undefined) return [`${at}: ${formal}`];
    if (!REPEATABLE.has(call.tool) || (call.tool === 'execute_code' && !runsCode)) return [];
    const answer = await tool.invoke(JSON.parse(call.arguments), toolContext());
    if (!('content' in answer)) return [`${at}: it asks a question`];
    const shown = shownOf(call.tool, answer.content);
    if (answer.isError === true) return [`${at}: it fails: ${answer.content}`];
    return shown === call.result ? [] : [`${at}: the result is ${shown}, not ${call.result}`];
  }

  return async (body: string): Promise<readonly string[]> => {
    const { calls } = partsOf(body);
    const isShown = calls.some(({ tool }) => REPEATABLE.has(tool));
    const problems = isShown ? [] : ['the example has no call of calculator or execute_code with its result'];
    for (const call of calls) problems.push(...(await callProblems(call)));
    return problems;
  };
}

function formProblem(
  call: ExampleCall,
  tool: Tool,
  checkArguments: ArgumentCheck,
  skills: ReadonlySet<string>,
): string | undefined {
  const checked = checkArguments(tool, call.arguments);
  if ('problems' in checked) return checked.problems.join('; ');
  const isRepeatable = REPEATABLE.has(call.tool);
  if (isRepeatable && call.result === undefined) return 'a ```result block must follow';
  if (!isRepeatable && call.result !== undefined)
    return 'nothing can check its ```result: say in words what comes back';
  if (call.tool === 'load_skill' && !skills.has(String(checked.input.name))) return 'there is no such skill';
  return undefined;
}

/** The part of an answer that a `result` block shows: of a program its output. */
export function shownOf(tool: string, content: string): string {
  if (tool !== 'execute_code') return content.trim();
  return (JSON.parse(content) as { readonly stdout: string }).stdout.trim();
}
