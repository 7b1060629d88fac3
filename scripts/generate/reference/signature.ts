import ts from 'typescript';

/** A declaration that is wider gets a line for each parameter. */
const WIDTH = 100;

const bare = ts.createPrinter({ removeComments: true });
const commented = ts.createPrinter();

/** A result type that the compiler inferred from the internals of a package: no import can name it. */
const INFERRED = /=> (?:\w+<)?import\("[^.].*$/;

/** A member in one line, without docblocks, without `readonly`: `on<T>(event: EventRef<T>): void`. */
export function memberSignature(member: ts.Node): string {
  const text = bare.printNode(ts.EmitHint.Unspecified, member, member.getSourceFile());
  return readable(text.replace(/\s+/g, ' ').replace(/;$/, '').replace(INFERRED, '=> …'));
}

/** `interface Scope<C = unknown> extends Other`: a declaration without the part in braces. */
export function headOf(statement: ts.InterfaceDeclaration | ts.ClassDeclaration): string {
  const source = statement.getSourceFile();
  const keyword = ts.isInterfaceDeclaration(statement) ? 'interface' : 'class';
  const parameters = statement.typeParameters?.map((parameter) => parameter.getText(source)).join(', ');
  const heritage = statement.heritageClauses?.map((clause) => ` ${clause.getText(source)}`).join('') ?? '';
  return `${keyword} ${statement.name?.text}${parameters === undefined ? '' : `<${parameters}>`}${heritage}`;
}

/** A declaration as code, with the docblocks of its members and without its own. */
export function declarationText(statement: ts.Statement): string {
  if (ts.isExportDeclaration(statement)) return statement.getText();
  if (ts.isFunctionDeclaration(statement)) return functionText(statement);
  const source = statement.getSourceFile();
  const text = commented.printNode(ts.EmitHint.Unspecified, withoutDocblock(statement), source);
  return readable(tidy(text));
}

function functionText(statement: ts.FunctionDeclaration): string {
  const line = tidy(bare.printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile()));
  if (line.length <= WIDTH || statement.parameters.length === 0) return readable(line);
  const text = (node: ts.Node) =>
    tidy(bare.printNode(ts.EmitHint.Unspecified, node, statement.getSourceFile()));
  const types = statement.typeParameters?.map(text).join(', ');
  const parameters = statement.parameters
    .map((parameter) => `  ${text(parameter).replaceAll('\n', '\n  ')},\n`)
    .join('');
  const returned = statement.type === undefined ? '' : `: ${text(statement.type)}`;
  const name = `${statement.name?.text}${types === undefined ? '' : `<${types}>`}`;
  return readable(`function ${name}(\n${parameters})${returned};`);
}

/** The docblock before the first word of a declaration is shown as prose, not as code. */
function withoutDocblock(statement: ts.Statement): ts.Statement {
  return ts.setEmitFlags(statement, ts.EmitFlags.NoLeadingComments);
}

function tidy(text: string): string {
  return text
    .replace(/^(?:export |declare )+/, '')
    .replace(/^(?: {4})+/gm, (indent) => '  '.repeat(indent.length / 4));
}

/**
 * Nearly every property is read-only, which the reference says once, in its index; the link of an inferred type says
 * where it comes from.
 */
function readable(text: string): string {
  return text
    .replace(/import\("[^"]+"\)\./g, '')
    .replace(/\breadonly (?=(?:[\w$]+|'[^']*'|\[[^\]]+\])(?:\??:| =))/g, '');
}
