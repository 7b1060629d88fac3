import ts from 'typescript';
import { type DeclarationIndex, type Declared, keyOf } from './declaration-index.ts';

/**
 * The names of the repository that a declaration mentions, itself excepted, each once, in the order of their first
 * mention.
 */
export function mentionsOf(index: DeclarationIndex, { file, name }: Declared): readonly Declared[] {
  const found = new Map<string, Declared>();
  const add = (declared: Declared | undefined) => {
    if (declared !== undefined && (declared.file !== file || declared.name !== name))
      found.set(keyOf(declared), declared);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node) || ts.isTypeQueryNode(node)) {
      const named = ts.isTypeReferenceNode(node)
        ? node.typeName
        : ts.isTypeQueryNode(node)
          ? node.exprName
          : node.expression;
      if (ts.isIdentifier(named)) add(index.resolve(file, named.text));
    } else if (ts.isImportTypeNode(node)) add(imported(index, file, node));
    ts.forEachChild(node, visit);
  };
  for (const statement of index.statementsOf({ file, name })) visit(statement);
  return [...found.values()];
}

/** `import("../base/clock.ts").Clock`, as the compiler writes inferred types. */
function imported(index: DeclarationIndex, file: string, node: ts.ImportTypeNode): Declared | undefined {
  const { argument, qualifier } = node;
  if (!ts.isLiteralTypeNode(argument) || !ts.isStringLiteral(argument.literal)) return undefined;
  if (qualifier === undefined || !ts.isIdentifier(qualifier)) return undefined;
  return index.resolveImport(file, argument.literal.text, qualifier.text);
}

/** The running gateway, which the test kit hands out: its parts are not for plugins. */
const CLOSED = new Set(['kernel/gateway.ts#Gateway']);

/**
 * How many mentions to follow from a name that can be imported: `GrpcMethod` mentions `Request`, and `Request` mentions
 * its parts.
 */
const STEPS = 2;

/** The types that have no page of their own and are reached from these names, by mentions of mentions as well. */
export function mentionedBy(
  index: DeclarationIndex,
  names: readonly Declared[],
  taken: ReadonlySet<string>,
): readonly Declared[] {
  const reached = new Map<string, Declared>();
  let last = names;
  for (let step = 0; step < STEPS; step += 1) {
    const next: Declared[] = [];
    for (const mention of last.flatMap((declared) => mentionsOf(index, declared))) {
      const key = keyOf(mention);
      if (taken.has(key) || reached.has(key)) continue;
      reached.set(key, mention);
      if (!CLOSED.has(key)) next.push(mention);
    }
    last = next;
  }
  return [...reached.values()];
}
